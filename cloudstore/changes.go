package cloudstore

import (
	"fmt"

	"cloud.google.com/go/firestore"

	"iris-gateway/iris"
)

// apply puts one change of a commit into its batch: one function for each kind.
// The change was copied and checked by rows.Commit. An Update implies that the
// row exists, else the whole commit is refused.
func (s *Store) apply(b *writeBatch, g string, ch iris.Change) error {
	switch c := ch.(type) {
	case iris.CreateMessage:
		b.Create(s.message(g, c.Message.ID), newMessageDoc(c.Message))
	case iris.PutMessage:
		b.Set(s.message(g, c.Message.ID), newMessageDoc(c.Message))
	case iris.PutChannel:
		b.Set(s.channel(g, c.Channel.Lane), newChannelDoc(c.Channel))
	case iris.SetBusy:
		b.Update(s.channel(g, c.Lane), setBusy(c))
	case iris.SetDeviceLink:
		b.Update(s.device(g, c.Device), setDeviceLink(c))
	case iris.SetHost:
		b.Update(s.gateway(g), []firestore.Update{{Path: "host", Value: newHostDoc(c.Host)}})
	case iris.SetHostLink:
		b.Update(s.gateway(g), setHostLink(c))
	case iris.PutLive:
		b.Set(s.live(g, c.Live.Turn), newLiveDoc(c.Live))
	case iris.DropLive:
		b.Delete(s.live(g, c.Turn))
	default:
		return s.applyLate(b, g, ch)
	}
	return nil
}

// applyLate puts the changes of what people set up into the batch.
func (s *Store) applyLate(b *writeBatch, g string, ch iris.Change) error {
	switch c := ch.(type) {
	case iris.SetChannelName:
		b.Update(s.channel(g, c.Lane), []firestore.Update{{Path: "name", Value: c.Name}, {Path: "auto", Value: false}})
	case iris.SetRead:
		b.Update(s.channel(g, c.Lane), []firestore.Update{{Path: "read_message_id", Value: c.MessageID}, {Path: "read_at", Value: c.At}})
	case iris.SetDefaultChat:
		b.Update(s.gateway(g), []firestore.Update{{Path: "default_chat", Value: c.ChatID}})
	case iris.PutPicker:
		b.Set(s.picker(g, c.Picker.ID), newPickerDoc(c.Picker))
	case iris.AnswerPicker:
		b.Delete(s.picker(g, c.ID), firestore.Exists)
	case iris.SetPush:
		b.Update(s.device(g, c.Device), setPush(c))
	case iris.DropDevice:
		b.Delete(s.device(g, c.Device), firestore.Exists)
	case iris.AddToken:
		b.Create(s.token(c.Token.Hash), newTokenDoc(c.Token))
	case iris.DropToken:
		b.Delete(s.token(c.Hash), firestore.Exists)
	case iris.SetHostToken:
		b.Update(s.gateway(g), []firestore.Update{{Path: "host_token", Value: c.Hash}})
	case iris.BeginDeletion:
		b.Create(s.deletion(g, c.Deletion.ID), newDeletionDoc(c.Deletion))
	case iris.EndDeletion:
		b.Delete(s.deletion(g, c.ID), firestore.Exists)
	case iris.DropChannel:
		b.Delete(s.channel(g, c.Lane), firestore.Exists)
	default:
		// rows.Commit lets no other kind through.
		return fmt.Errorf("%w: unknown change %T", iris.ErrRejected, ch)
	}
	return nil
}

// setPush always writes something: the row must exist.
func setPush(c iris.SetPush) []firestore.Update {
	up := []firestore.Update{{Path: "id", Value: c.Device}}
	registers := false
	for path, v := range map[string]*string{"fcm_token": c.FCMToken, "ntfy_topic": c.NtfyTopic} {
		switch {
		case v == nil:
		case *v == "":
			up = append(up, firestore.Update{Path: path, Value: firestore.Delete})
		default:
			up = append(up, firestore.Update{Path: path, Value: *v})
			registers = true
		}
	}
	if registers {
		up = append(up, firestore.Update{Path: "push", Value: firestore.Delete})
	}
	return up
}

func setBusy(c iris.SetBusy) []firestore.Update {
	if c.Turn == "" {
		return []firestore.Update{{Path: "busy", Value: firestore.Delete}}
	}
	return []firestore.Update{{Path: "busy", Value: busyDoc{Turn: c.Turn}}}
}

func setDeviceLink(c iris.SetDeviceLink) []firestore.Update {
	up := []firestore.Update{
		{Path: "link", Value: linkDoc(c.Link)},
		{Path: "seen", Value: c.Seen},
	}
	if c.Name != "" {
		up = append(up, firestore.Update{Path: "name", Value: c.Name})
	}
	return up
}

func setHostLink(c iris.SetHostLink) []firestore.Update {
	return []firestore.Update{
		{Path: "host.link", Value: linkDoc(c.Link)},
		{Path: "host.seen", Value: c.Seen},
	}
}
