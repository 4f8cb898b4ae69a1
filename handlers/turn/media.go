package turn

import (
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// media takes a file that the agent sent: devices are offered it, and get a
// message that contains it, with its caption as the text. Its turn may be over,
// for bytes take their time.
func (m *Machine) media(ev link.Event, b link.Media) error {
	if b.MessageID == "" {
		return missing(ev, "message_id")
	}
	if b.MediaID == "" {
		return missing(ev, "media_id")
	}
	if m.stopped.has(b.MessageID) {
		return nil
	}
	caption, _ := cleanFinal(b.Caption)
	medium := wire.Media{MediaID: b.MediaID, Kind: b.Kind, Mime: b.Mime, Size: b.Size, Filename: b.Filename}
	m.entry(ev.Lane(), wire.MediaOffer(medium)).Messages = []string{b.MessageID}
	p := wire.Message{
		MessageID: b.MessageID, Role: iris.RoleAssistant, Text: caption, Media: []wire.Media{medium},
		ReplyTo: b.ReplyTo, TS: ev.At,
	}
	row := rowOf(p, ev.Lane())
	row.Media = []iris.Media{{
		ID: b.MediaID, Kind: b.Kind, MIME: b.Mime, Size: b.Size, SHA256: b.SHA256, Filename: b.Filename, Created: row.At,
	}}
	m.row(p, row, true)
	return nil
}
