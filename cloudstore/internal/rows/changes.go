package rows

import "iris-gateway/iris"

// lateChange copies and measures the changes of what people set up: the
// directory, pickers, push registrations, tokens and deletions.
func lateChange(ch iris.Change) (_ iris.Change, size int, err error) {
	switch c := ch.(type) {
	case iris.SetChannelName:
		size, err = checked(texts, "channel", []string{c.Lane.ChatID, c.Lane.ThreadID, c.Name})
		return c, size, err
	case iris.SetRead:
		c.At = Time(c.At)
		size, err = checked(texts, "channel", []string{c.Lane.ChatID, c.Lane.ThreadID, c.MessageID})
		return c, size, err
	case iris.SetDefaultChat:
		size, err = checked(texts, "gateway", []string{c.ChatID})
		return c, size, err
	case iris.PutPicker:
		c.Picker = Picker(c.Picker)
		size, err = checked(pickerDocument, "picker", c.Picker)
		return c, size, err
	case iris.AnswerPicker:
		size, err = checked(texts, "picker", []string{c.ID})
		return c, size, err
	case iris.SetPush:
		c.FCMToken, c.NtfyTopic = pointer(c.FCMToken), pointer(c.NtfyTopic)
		size, err = checked(texts, "device", []string{c.Device, value(c.FCMToken), value(c.NtfyTopic)})
		return c, size, err
	case iris.DropDevice:
		size, err = checked(texts, "device", []string{c.Device})
		return c, size, err
	case iris.AddToken:
		c.Token = Token(c.Token)
		t := c.Token
		size, err = checked(texts, "token", []string{t.Hash, string(t.Kind), t.Gateway, t.Device, t.Name})
		return c, size, err
	case iris.DropToken:
		size, err = checked(texts, "token", []string{c.Hash})
		return c, size, err
	case iris.SetHostToken:
		size, err = checked(texts, "gateway", []string{c.Hash})
		return c, size, err
	case iris.BeginDeletion:
		c.Deletion = Deletion(c.Deletion)
		size, err = checked(deletionDocument, "deletion", c.Deletion)
		return c, size, err
	case iris.EndDeletion:
		size, err = checked(texts, "deletion", []string{c.ID})
		return c, size, err
	case iris.DropChannel:
		size, err = checked(texts, "channel", []string{c.Lane.ChatID, c.Lane.ThreadID})
		return c, size, err
	default:
		return ch, 0, rejected("unknown change %T", ch)
	}
}

func pickerDocument(m *meter, p iris.Picker) {
	m.size += 2 * itemOverhead
	m.text(p.ID, p.Lane.ChatID, p.Lane.ThreadID, p.Frame)
}

func deletionDocument(m *meter, d iris.Deletion) {
	m.size += 2 * itemOverhead
	m.text(d.ID, d.Lane.ChatID, d.Lane.ThreadID)
	m.text(d.Messages...)
	m.text(d.Threads...)
	m.text(d.Names...)
	m.text(d.Media...)
}

func pointer(s *string) *string {
	if s == nil {
		return nil
	}
	v := *s
	return &v
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
