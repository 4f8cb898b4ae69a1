package handlers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/iris"
)

// handleHostSend takes what a scheduled job says that runs in another process
// than the one with the host link (host-link.md, "Opening"). The
// same message_id again changes nothing.
func (s *Server) handleHostSend(w http.ResponseWriter, r *http.Request) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxTextFrame))
	if err != nil {
		return iris.Errorf(iris.CodeUnsupported, "body cannot be read, or has more than %d bytes", link.MaxTextFrame)
	}
	send, err := link.Decode[link.HostSend](data)
	if err != nil {
		return err
	}
	lane := iris.Lane{ChatID: send.ChatID, ThreadID: send.ThreadID}
	draft, err := cronDraft(lane, send)
	if err != nil {
		return err
	}
	err = s.append(r.Context(), r.PathValue("gateway"), func(state *hub.State) (hub.Draft, error) {
		if _, ok := state.Channel(lane); !ok {
			return hub.Draft{}, unknownLane(lane)
		}
		return draft, nil
	})
	if err != nil && !errors.Is(err, iris.ErrRefused) { // its row exists: it came before
		return err
	}
	s.settlePushes(r)
	reply(w, http.StatusOK, map[string]string{"message_id": send.MessageID})
	return nil
}

// cronDraft lets the turn machine say what the devices get, as it would had the
// event come by the link. That it comes twice is seen by the row.
func cronDraft(lane iris.Lane, send link.HostSend) (hub.Draft, error) {
	body, err := json.Marshal(link.Cron{MessageID: send.MessageID, Text: send.Text, Job: send.Job})
	if err != nil {
		return hub.Draft{}, err
	}
	frames, err := turn.New(nil).Handle(link.Event{
		Seq: 1, At: time.Now().UnixMilli(), Kind: link.KindCron, ChatID: lane.ChatID, ThreadID: lane.ThreadID, Body: body,
	})
	var draft hub.Draft
	for _, f := range frames {
		if !f.Durable {
			continue
		}
		draft.Add(f.Lane, f.Payload)
		draft.Messages = append(draft.Messages, f.Messages...)
		draft.Notify = draft.Notify || f.Notify
		for _, c := range f.Changes {
			if put, ok := c.(iris.PutMessage); ok {
				c = iris.CreateMessage(put)
			}
			draft.Changes = append(draft.Changes, c)
		}
	}
	return draft, err
}
