package handlers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// An export is read by pages, each of a bounded size: whoever reads goes on with
// next of the page before, at any time, on any instance (docs/export.md).
const (
	exportRows  = 50      // that one read of the store brings
	exportBytes = 4 << 20 // of texts, after which a page ends
	exportPage  = 500     // messages or media of a page
)

type (
	exportSummary struct {
		GatewayID   string          `json:"gateway_id"`
		Name        string          `json:"name"`
		DefaultChat string          `json:"default_chat"`
		Created     int64           `json:"created"` // ms since 1970
		Host        exportHost      `json:"host"`
		Messages    int             `json:"messages"` // how many there are now
		Channels    []exportChannel `json:"channels"`
		Devices     []exportDevice  `json:"devices"`
	}

	exportHost struct {
		Version string `json:"version"`
		Model   string `json:"model"`
		Seen    int64  `json:"seen"`
	}

	exportChannel struct {
		ChatID        string `json:"chat_id"`
		ThreadID      string `json:"thread_id,omitempty"`
		Name          string `json:"name"`
		Kind          string `json:"kind"`
		Auto          bool   `json:"auto,omitempty"`
		ReadMessageID string `json:"read_message_id,omitempty"`
	}

	// exportDevice is a device without its secrets: tokens and where pushes go.
	exportDevice struct {
		DeviceID string `json:"device_id"`
		Name     string `json:"name"`
		Push     string `json:"push"`
		Seen     int64  `json:"seen"`
		Created  int64  `json:"created"`
	}

	// exportMessage is a message as devices see it, and where it belongs.
	exportMessage struct {
		ChatID   string `json:"chat_id"`
		ThreadID string `json:"thread_id,omitempty"`
		Cursor   int64  `json:"cursor"`
		wire.Message
	}

	exportMedium struct {
		wire.Media
		SHA256  string `json:"sha256"`
		Created int64  `json:"created"`
	}
)

// handleExport answers with what a gateway is, its channels and its devices.
func (s *Server) handleExport(w http.ResponseWriter, r *http.Request) error {
	ctx, store := r.Context(), s.cfg.Store
	gw, err := store.Gateway(ctx, r.PathValue("gateway"))
	if err != nil {
		return err
	}
	channels, err := store.Channels(ctx, gw.ID)
	if err != nil {
		return err
	}
	devices, err := store.Devices(ctx, gw.ID)
	if err != nil {
		return err
	}
	messages, err := store.CountMessages(ctx, gw.ID)
	if err != nil {
		return err
	}
	sum := exportSummary{
		GatewayID: gw.ID, Name: gw.Name, DefaultChat: gw.DefaultChat, Created: millis(gw.Created),
		Host:     exportHost{gw.Host.Version, gw.Host.Model, millis(gw.Host.Seen)},
		Messages: messages, Channels: []exportChannel{}, Devices: []exportDevice{},
	}
	for _, c := range channels {
		kind := c.Kind
		if c.Lane.ThreadID == "" && c.Lane.ChatID == gw.DefaultChat {
			kind = iris.KindDefault
		}
		sum.Channels = append(sum.Channels, exportChannel{c.Lane.ChatID, c.Lane.ThreadID, c.Name, kind, c.Auto, c.ReadMessageID})
	}
	for _, d := range devices {
		sum.Devices = append(sum.Devices, exportDevice{d.ID, d.Name, pushKind(d), millis(d.Seen), millis(d.Created)})
	}
	reply(w, http.StatusOK, sum)
	return nil
}

// handleExportMessages answers with a page of messages, in the order in which
// they came into the log.
func (s *Server) handleExportMessages(w http.ResponseWriter, r *http.Request) error {
	gw, err := s.cfg.Store.Gateway(r.Context(), r.PathValue("gateway"))
	if err != nil {
		return err
	}
	after, err := readExportPlace(r.FormValue("after"))
	if err != nil {
		return err
	}
	list, more := []exportMessage{}, true
	for size := 0; more && size < exportBytes && len(list) < exportPage; {
		page, err := s.cfg.Store.ExportMessages(r.Context(), gw.ID, after, min(exportRows, exportPage-len(list)))
		if err != nil {
			return err
		}
		more, after = page.More, page.Last
		for i, m := range page.Messages {
			size += len(m.Text) + len(m.Reasoning)
			list = append(list, exportMessage{m.Lane.ChatID, m.Lane.ThreadID, m.Cursor, messageFrame(m)})
			if size >= exportBytes && i < len(page.Messages)-1 { // the rest of them comes with the next page
				more, after = true, iris.ExportPlace{Cursor: m.Cursor, At: m.At, ID: m.ID}
				break
			}
		}
	}
	next := ""
	if more {
		next = writeExportPlace(after)
	}
	reply(w, http.StatusOK, map[string]any{"messages": list, "next": next})
	return nil
}

// handleExportMedia answers with a page of what the gateway's media are.
func (s *Server) handleExportMedia(w http.ResponseWriter, r *http.Request) error {
	gw, err := s.cfg.Store.Gateway(r.Context(), r.PathValue("gateway"))
	if err != nil {
		return err
	}
	after := r.FormValue("after")
	if err := wire.CheckID("after", after); err != nil {
		return err
	}
	list, next := []exportMedium{}, ""
	if s.cfg.Media != nil {
		var media []iris.Media
		if media, next, err = s.cfg.Media.ExportMedia(r.Context(), gw.ID, after, exportPage); err != nil {
			return err
		}
		frames := mediaFrames(media)
		for i, m := range media {
			list = append(list, exportMedium{frames[i], m.SHA256, millis(m.Created)})
		}
	}
	reply(w, http.StatusOK, map[string]any{"media": list, "next": next})
	return nil
}

// handleExportMedium answers with the bytes of a medium, from "Range: bytes=N-"
// on when that is asked for.
func (s *Server) handleExportMedium(w http.ResponseWriter, r *http.Request) error {
	gw, err := s.cfg.Store.Gateway(r.Context(), r.PathValue("gateway"))
	if err != nil {
		return err
	}
	if s.cfg.Media == nil {
		return iris.Errorf(iris.CodeNotFound, "this gateway has no media")
	}
	offset, status, err := rangeStart(r.Header.Get("Range"))
	if err != nil {
		return err
	}
	m, body, err := s.cfg.Media.OpenMedia(r.Context(), gw.ID, r.PathValue("media"), offset, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	// Whatever it is, no browser runs it.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.FormatInt(m.Size-offset, 10))
	if status == http.StatusPartialContent {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, m.Size-1, m.Size))
	}
	w.WriteHeader(status)
	if _, err := io.Copy(w, body); err != nil {
		s.log.Warn("export of a medium was cut", "gateway", gw.ID, "media", m.ID, "err", err)
		panic(http.ErrAbortHandler) // the client must see that it is not whole
	}
	return nil
}

// rangeStart reads a header of the form "bytes=N-"; without one it is 0.
func rangeStart(header string) (offset int64, status int, err error) {
	if header == "" {
		return 0, http.StatusOK, nil
	}
	digits, begins := strings.CutPrefix(header, "bytes=")
	digits, ends := strings.CutSuffix(digits, "-")
	offset, err = strconv.ParseInt(digits, 10, 64)
	if !begins || !ends || err != nil || offset < 0 {
		return 0, 0, iris.Errorf(iris.CodeUnsupported, "Range is %q, only \"bytes=N-\" is supported", printable(header))
	}
	return offset, http.StatusPartialContent, nil
}

// exportToken is an [iris.ExportPlace] as readers of an export give it back.
type exportToken struct {
	Cursor int64  `json:"c"`
	Micros int64  `json:"t"`
	ID     string `json:"i"`
}

func writeExportPlace(p iris.ExportPlace) string {
	b, _ := json.Marshal(exportToken{p.Cursor, p.At.UnixMicro(), p.ID}) // numbers and a string always marshal
	return base64.RawURLEncoding.EncodeToString(b)
}

func readExportPlace(text string) (iris.ExportPlace, error) {
	if text == "" {
		return iris.ExportPlace{}, nil
	}
	var t exportToken
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	at := time.UnixMicro(t.Micros).UTC()
	if err != nil || at.Year() < 1 || at.Year() > 9999 {
		return iris.ExportPlace{}, iris.Errorf(iris.CodeUnsupported, "after is not what a page gave: %q", printable(text))
	}
	return iris.ExportPlace{Cursor: t.Cursor, At: at, ID: t.ID}, nil
}
