package memstore

import (
	"fmt"

	"iris-gateway/iris"
)

// apply does one change of a commit, or refuses it. The change was copied and
// checked by rows.Commit.
func (s *Store) apply(u *undo, gw *gateway, ch iris.Change) error {
	switch c := ch.(type) {
	case iris.CreateMessage:
		if _, taken := gw.messages[c.Message.ID]; taken {
			return refused("message %q exists", c.Message.ID)
		}
		set(u, gw.messages, c.Message.ID, c.Message)
	case iris.PutMessage:
		set(u, gw.messages, c.Message.ID, c.Message)
	case iris.PutChannel:
		set(u, gw.channels, c.Channel.Lane, c.Channel)
	case iris.SetBusy:
		return update(u, gw.channels, c.Lane, func(row *iris.Channel) { row.Busy = c.Turn })
	case iris.SetDeviceLink:
		return update(u, gw.devices, c.Device, func(row *iris.Device) {
			row.Link, row.Seen = c.Link, c.Seen
			if c.Name != "" {
				row.Name = c.Name
			}
		})
	case iris.SetHost:
		return updateGateway(u, gw, func(row *iris.Gateway) { row.Host = c.Host })
	case iris.SetHostLink:
		return updateGateway(u, gw, func(row *iris.Gateway) { row.Host.Link, row.Host.Seen = c.Link, c.Seen })
	case iris.PutLive:
		u.add(gw.restoreLive(c.Live.Turn))
		gw.setLive(c.Live)
	case iris.DropLive:
		u.add(gw.restoreLive(c.Turn))
		gw.dropLive(c.Turn)
	default:
		return s.applyLate(u, gw, ch)
	}
	return nil
}

// applyLate does the changes of what people set up.
func (s *Store) applyLate(u *undo, gw *gateway, ch iris.Change) error {
	switch c := ch.(type) {
	case iris.SetChannelName:
		return update(u, gw.channels, c.Lane, func(row *iris.Channel) { row.Name, row.Auto = c.Name, false })
	case iris.SetRead:
		return update(u, gw.channels, c.Lane, func(row *iris.Channel) { row.ReadMessageID, row.ReadAt = c.MessageID, c.At })
	case iris.SetDefaultChat:
		return updateGateway(u, gw, func(row *iris.Gateway) { row.DefaultChat = c.ChatID })
	case iris.PutPicker:
		set(u, gw.pickers, c.Picker.ID, c.Picker)
	case iris.AnswerPicker:
		return drop(u, gw.pickers, c.ID)
	case iris.SetPush:
		return update(u, gw.devices, c.Device, func(row *iris.Device) {
			for to, v := range map[*string]*string{&row.FCMToken: c.FCMToken, &row.NtfyTopic: c.NtfyTopic} {
				if v != nil {
					*to = *v
				}
				if v != nil && *v != "" {
					row.Push = iris.PushState{}
				}
			}
		})
	case iris.DropDevice:
		return drop(u, gw.devices, c.Device)
	case iris.AddToken:
		if _, taken := s.tokens[c.Token.Hash]; taken {
			return refused("token exists")
		}
		set(u, s.tokens, c.Token.Hash, c.Token)
	case iris.DropToken:
		return drop(u, s.tokens, c.Hash)
	case iris.SetHostToken:
		return updateGateway(u, gw, func(row *iris.Gateway) { row.HostToken = c.Hash })
	case iris.BeginDeletion:
		if _, taken := gw.deletions[c.Deletion.ID]; taken {
			return refused("deletion exists")
		}
		set(u, gw.deletions, c.Deletion.ID, c.Deletion)
	case iris.EndDeletion:
		return drop(u, gw.deletions, c.ID)
	case iris.DropChannel:
		return drop(u, gw.channels, c.Lane)
	default:
		// rows.Commit lets no other kind through.
		return fmt.Errorf("%w: unknown change %T", iris.ErrRejected, ch)
	}
	return nil
}

// undo takes the writes of a refused commit back, last first.
type undo struct{ steps []func() }

func (u *undo) add(step func()) { u.steps = append(u.steps, step) }

func (u *undo) run() {
	for i := len(u.steps) - 1; i >= 0; i-- {
		u.steps[i]()
	}
}

// set puts a row in place.
func set[K comparable, V any](u *undo, table map[K]V, key K, row V) {
	old, had := table[key]
	u.add(func() {
		if had {
			table[key] = old
		} else {
			delete(table, key)
		}
	})
	table[key] = row
}

// update changes a row, which must exist.
func update[K comparable, V any](u *undo, table map[K]V, key K, edit func(*V)) error {
	row, found := table[key]
	if !found {
		return refused("%T %v is gone", row, key)
	}
	edit(&row)
	set(u, table, key, row)
	return nil
}

// drop removes a row, which must exist.
func drop[K comparable, V any](u *undo, table map[K]V, key K) error {
	row, found := table[key]
	if !found {
		return refused("%T is gone", row)
	}
	u.add(func() { table[key] = row })
	delete(table, key)
	return nil
}

// updateGateway changes the row of the gateway itself, which must exist.
func updateGateway(u *undo, gw *gateway, edit func(*iris.Gateway)) error {
	if gw.row == nil {
		return refused("gateway is gone")
	}
	old, row := gw.row, *gw.row
	u.add(func() { gw.row = old })
	edit(&row)
	gw.row = &row
	return nil
}
