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
	case iris.DropLive:
		b.Delete(s.live(g, c.Turn))
	default:
		// rows.Commit lets no other kind through.
		return fmt.Errorf("%w: unknown change %T", iris.ErrRejected, ch)
	}
	return nil
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
