package cloudstore

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// channelDoc is gateways/{g}/channels/{laneID}.
type channelDoc struct {
	ChatID        string    `firestore:"chat_id"`
	ThreadID      string    `firestore:"thread_id"`
	Name          string    `firestore:"name"`
	Kind          string    `firestore:"kind"`
	Auto          bool      `firestore:"auto"`
	ReadMessageID string    `firestore:"read_message_id,omitempty"`
	ReadAt        time.Time `firestore:"read_at,omitempty"`
	Busy          *busyDoc  `firestore:"busy,omitempty"` // nil: nothing runs
}

type busyDoc struct {
	Turn string `firestore:"turn"`
}

func newChannelDoc(c iris.Channel) channelDoc {
	doc := channelDoc{
		ChatID: c.Lane.ChatID, ThreadID: c.Lane.ThreadID, Name: c.Name, Kind: c.Kind,
		Auto: c.Auto, ReadMessageID: c.ReadMessageID, ReadAt: c.ReadAt,
	}
	if c.Busy != "" {
		doc.Busy = &busyDoc{Turn: c.Busy}
	}
	return doc
}

func (doc channelDoc) noun() iris.Channel {
	c := iris.Channel{
		Lane: iris.Lane{ChatID: doc.ChatID, ThreadID: doc.ThreadID}, Name: doc.Name, Kind: doc.Kind,
		Auto: doc.Auto, ReadMessageID: doc.ReadMessageID, ReadAt: doc.ReadAt,
	}
	if doc.Busy != nil {
		c.Busy = doc.Busy.Turn
	}
	return c
}

// pickerDoc is gateways/{g}/pickers/{docID}: it exists while the picker is open.
type pickerDoc struct {
	ID       string    `firestore:"id"`
	ChatID   string    `firestore:"chat_id"`
	ThreadID string    `firestore:"thread_id"`
	Frame    string    `firestore:"frame"`
	At       time.Time `firestore:"at"`
}

func newPickerDoc(p iris.Picker) pickerDoc {
	return pickerDoc{ID: p.ID, ChatID: p.Lane.ChatID, ThreadID: p.Lane.ThreadID, Frame: p.Frame, At: p.At}
}

func (doc pickerDoc) noun() iris.Picker {
	return iris.Picker{ID: doc.ID, Lane: iris.Lane{ChatID: doc.ChatID, ThreadID: doc.ThreadID}, Frame: doc.Frame, At: doc.At}
}

func (s *Store) picker(g, id string) *firestore.DocumentRef {
	return s.gateway(g).Collection("pickers").Doc(docID(id))
}

// Channels returns the channels and threads of a gateway, sorted by chat and
// thread.
func (s *Store) Channels(ctx context.Context, g string) ([]iris.Channel, error) {
	docs, err := list[channelDoc](ctx, s, "channels", s.gateway(g).Collection("channels").Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing the channels of %s", g)
	}
	out := nouns(docs, channelDoc.noun)
	slices.SortFunc(out, rows.CompareChannels)
	return out, nil
}

// Pickers returns the open pickers of a gateway, oldest first.
func (s *Store) Pickers(ctx context.Context, g string) ([]iris.Picker, error) {
	docs, err := list[pickerDoc](ctx, s, "pickers", s.gateway(g).Collection("pickers").Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing the pickers of %s", g)
	}
	out := nouns(docs, pickerDoc.noun)
	slices.SortFunc(out, rows.ComparePickers)
	return out, nil
}
