package cloudstore

import (
	"time"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// The documents as Firestore keeps them (log.md, "Entry" and "Rows"). A row is
// written whole from its type here; a field that only an Update touches stands
// in changes.go.

// entryDoc is gateways/{g}/outbox/{cursor}. Its field guard is written by
// later commits only and never read.
type entryDoc struct {
	Cursor      int64        `firestore:"cursor"`
	Writer      string       `firestore:"writer"`
	Batch       int64        `firestore:"batch"`
	First       int64        `firestore:"first"`
	Host        hostMarkDoc  `firestore:"host"`
	LastInbound int64        `firestore:"last_inbound"`
	Frames      []string     `firestore:"frames,omitempty"`
	Inbound     []string     `firestore:"inbound,omitempty"`
	Control     []controlDoc `firestore:"control,omitempty"`
	Lanes       []laneDoc    `firestore:"lanes,omitempty"`
	Messages    []string     `firestore:"messages,omitempty"`
	Notify      bool         `firestore:"notify"`
	At          time.Time    `firestore:"at,serverTimestamp"`
}

type hostMarkDoc struct {
	Epoch    string `firestore:"epoch"`
	Seq      int64  `firestore:"seq"`
	Received int64  `firestore:"received"`
}

type controlDoc struct {
	Kind   string   `firestore:"kind"`
	Device string   `firestore:"device,omitempty"`
	Link   linkDoc  `firestore:"link"`
	Push   string   `firestore:"push,omitempty"`
	Done   *doneDoc `firestore:"done,omitempty"`

	Deletion *deletionDoc `firestore:"deletion,omitempty"`
}

type doneDoc struct {
	Cursor int64  `firestore:"cursor"`
	Item   int    `firestore:"item"`
	OK     bool   `firestore:"ok"`
	Error  string `firestore:"error,omitempty"`
}

func newControlDoc(c iris.Control) controlDoc {
	doc := controlDoc{Kind: string(c.Kind), Device: c.Device, Link: linkDoc(c.Link), Push: c.Push}
	if c.Done != (iris.Done{}) {
		done := doneDoc(c.Done)
		doc.Done = &done
	}
	if c.Deletion != nil {
		deletion := newDeletionDoc(*c.Deletion)
		doc.Deletion = &deletion
	}
	return doc
}

func (doc controlDoc) noun() iris.Control {
	c := iris.Control{Kind: iris.ControlKind(doc.Kind), Device: doc.Device, Link: iris.Link(doc.Link), Push: doc.Push}
	if doc.Done != nil {
		c.Done = iris.Done(*doc.Done)
	}
	if doc.Deletion != nil {
		deletion := doc.Deletion.noun()
		c.Deletion = &deletion
	}
	return c
}

type laneDoc struct {
	ChatID   string `firestore:"chat_id"`
	ThreadID string `firestore:"thread_id"`
}

type linkDoc struct {
	ID       string    `firestore:"id"`
	Instance string    `firestore:"instance"`
	At       time.Time `firestore:"at"`
}

// newEntryDoc leaves At zero: the server fills it in.
func newEntryDoc(e iris.Entry) entryDoc {
	doc := entryDoc{
		Cursor: e.Cursor, Writer: e.Writer, Batch: e.Batch,
		First: e.First, Host: hostMarkDoc(e.Host), LastInbound: e.LastInbound,
		Frames: e.Frames, Inbound: e.Inbound, Messages: e.Messages, Notify: e.Notify,
	}
	for _, c := range e.Control {
		doc.Control = append(doc.Control, newControlDoc(c))
	}
	for _, l := range e.Lanes {
		doc.Lanes = append(doc.Lanes, laneDoc(l))
	}
	return doc
}

func (doc entryDoc) noun() iris.Entry {
	e := iris.Entry{
		Cursor: doc.Cursor, Writer: doc.Writer, Batch: doc.Batch,
		First: doc.First, Host: iris.HostMark(doc.Host), LastInbound: doc.LastInbound,
		Frames: doc.Frames, Inbound: doc.Inbound, Messages: doc.Messages, Notify: doc.Notify,
		At: doc.At,
	}
	for _, c := range doc.Control {
		e.Control = append(e.Control, c.noun())
	}
	for _, l := range doc.Lanes {
		e.Lanes = append(e.Lanes, iris.Lane(l))
	}
	return e
}

// messageDoc is gateways/{g}/messages/{docID}.
type messageDoc struct {
	ID        string        `firestore:"id"`
	Lane      string        `firestore:"lane"` // laneID, for history
	ChatID    string        `firestore:"chat_id"`
	ThreadID  string        `firestore:"thread_id"`
	Role      string        `firestore:"role"`
	Kind      string        `firestore:"kind"` // kindCommentary or ""
	Text      string        `firestore:"text"`
	Reasoning string        `firestore:"reasoning,omitempty"`
	Media     []mediaRefDoc `firestore:"media,omitempty"`
	MediaIDs  []string      `firestore:"media_ids,omitempty"` // of them, to be looked for
	ReplyTo   string        `firestore:"reply_to,omitempty"`
	Model     string        `firestore:"model,omitempty"`
	Tokens    int           `firestore:"tokens,omitempty"`
	Runtime   *runtimeDoc   `firestore:"runtime,omitempty"`
	At        time.Time     `firestore:"ts"` // never left out: history asks for it
	Cursor    int64         `firestore:"cursor"`
	Deleted   bool          `firestore:"deleted"`           // never left out: history asks for it
	Expires   time.Time     `firestore:"expires,omitempty"` // of the database's TTL policy
	Terms     []string      `firestore:"terms,omitempty"`   // for search
}

const kindCommentary = "commentary"

type runtimeDoc struct {
	Model      string  `firestore:"model,omitempty"`
	ContextPct int     `firestore:"context_pct,omitempty"`
	Cwd        string  `firestore:"cwd,omitempty"`
	Latency    float64 `firestore:"latency,omitempty"`
	Cost       float64 `firestore:"cost,omitempty"`
}

func newMessageDoc(m iris.Message) messageDoc {
	doc := messageDoc{
		ID: m.ID, Lane: laneID(m.Lane), ChatID: m.Lane.ChatID, ThreadID: m.Lane.ThreadID,
		Role: string(m.Role), Text: m.Text, Reasoning: m.Reasoning, ReplyTo: m.ReplyTo,
		Model: m.Model, Tokens: m.Tokens, At: m.At, Cursor: m.Cursor, Deleted: m.Deleted,
		Expires: m.Expires, Terms: m.Terms, MediaIDs: m.MediaIDs(),
	}
	if m.Commentary {
		doc.Kind = kindCommentary
	}
	for _, media := range m.Media {
		doc.Media = append(doc.Media, mediaRefDoc(media))
	}
	if m.Runtime != nil {
		r := runtimeDoc(*m.Runtime)
		doc.Runtime = &r
	}
	return doc
}

func (doc messageDoc) noun() iris.Message {
	m := iris.Message{
		ID: doc.ID, Lane: iris.Lane{ChatID: doc.ChatID, ThreadID: doc.ThreadID},
		Role: iris.Role(doc.Role), Commentary: doc.Kind == kindCommentary,
		Text: doc.Text, Reasoning: doc.Reasoning, ReplyTo: doc.ReplyTo,
		Model: doc.Model, Tokens: doc.Tokens, At: doc.At, Cursor: doc.Cursor, Deleted: doc.Deleted,
		Expires: doc.Expires,
	}
	for _, media := range doc.Media {
		m.Media = append(m.Media, iris.Media(media))
	}
	if doc.Runtime != nil {
		r := iris.Runtime(*doc.Runtime)
		m.Runtime = &r
	}
	return m
}

// mediaRefDoc is a medium as a message shows it.
type mediaRefDoc struct {
	ID       string    `firestore:"id"`
	Kind     string    `firestore:"kind"`
	MIME     string    `firestore:"mime"`
	Size     int64     `firestore:"size"`
	SHA256   string    `firestore:"sha256"`
	Filename string    `firestore:"filename"`
	Created  time.Time `firestore:"created"`
}

// deviceDoc is gateways/{g}/devices/{docID}.
type deviceDoc struct {
	ID         string    `firestore:"id"`
	Name       string    `firestore:"name"`
	Token      string    `firestore:"token"`
	Cursor     int64     `firestore:"cursor"`
	LastPushed int64     `firestore:"last_pushed_cursor"`
	Link       linkDoc   `firestore:"link"`
	FCMToken   string    `firestore:"fcm_token,omitempty"`
	NtfyTopic  string    `firestore:"ntfy_topic,omitempty"`
	Push       *pushDoc  `firestore:"push,omitempty"` // nil: there was no push
	Seen       time.Time `firestore:"seen"`
	Created    time.Time `firestore:"created"`
}

func newDeviceDoc(d iris.Device) deviceDoc {
	doc := deviceDoc{
		ID: d.ID, Name: d.Name, Token: d.Token, Cursor: d.Cursor, LastPushed: d.LastPushed,
		Link: linkDoc(d.Link), FCMToken: d.FCMToken, NtfyTopic: d.NtfyTopic, Seen: d.Seen, Created: d.Created,
	}
	if d.Push != (iris.PushState{}) {
		doc.Push = newPushDoc(d.Push)
	}
	return doc
}

func (doc deviceDoc) noun() iris.Device {
	d := iris.Device{
		ID: doc.ID, Name: doc.Name, Token: doc.Token, Cursor: doc.Cursor, LastPushed: doc.LastPushed,
		Link: iris.Link(doc.Link), FCMToken: doc.FCMToken, NtfyTopic: doc.NtfyTopic, Seen: doc.Seen, Created: doc.Created,
	}
	if doc.Push != nil {
		d.Push = doc.Push.noun()
	}
	return d
}

// gatewayDoc is gateways/{g}.
type gatewayDoc struct {
	ID          string    `firestore:"id"`
	Name        string    `firestore:"name"`
	DefaultChat string    `firestore:"default_chat"`
	HostToken   string    `firestore:"host_token"`
	Host        hostDoc   `firestore:"host"`
	Created     time.Time `firestore:"created"`
}

type hostDoc struct {
	Link     linkDoc   `firestore:"link"`
	Version  string    `firestore:"version"`
	Model    string    `firestore:"model"`
	Commands []byte    `firestore:"commands,omitempty"`
	Seen     time.Time `firestore:"seen"`
}

func newHostDoc(h iris.Host) hostDoc {
	return hostDoc{Link: linkDoc(h.Link), Version: h.Version, Model: h.Model, Commands: h.Commands, Seen: h.Seen}
}

func newGatewayDoc(g iris.Gateway) gatewayDoc {
	g = rows.Gateway(g)
	return gatewayDoc{
		ID: g.ID, Name: g.Name, DefaultChat: g.DefaultChat, HostToken: g.HostToken,
		Host: newHostDoc(g.Host), Created: g.Created,
	}
}

func (doc gatewayDoc) noun() iris.Gateway {
	return iris.Gateway{
		ID: doc.ID, Name: doc.Name, DefaultChat: doc.DefaultChat, HostToken: doc.HostToken,
		Host: iris.Host{
			Link: iris.Link(doc.Host.Link), Version: doc.Host.Version, Model: doc.Host.Model,
			Commands: doc.Host.Commands, Seen: doc.Host.Seen,
		},
		Created: doc.Created,
	}
}

// tokenDoc is tokens/{hash}.
type tokenDoc struct {
	Hash    string    `firestore:"hash"`
	Kind    string    `firestore:"kind"`
	Gateway string    `firestore:"gateway"`
	Device  string    `firestore:"device"`
	Name    string    `firestore:"name"`
	Expires time.Time `firestore:"expires,omitempty"`
	Created time.Time `firestore:"created"`
}

func newTokenDoc(t iris.Token) tokenDoc {
	t = rows.Token(t)
	return tokenDoc{
		Hash: t.Hash, Kind: string(t.Kind), Gateway: t.Gateway, Device: t.Device,
		Name: t.Name, Expires: t.Expires, Created: t.Created,
	}
}

func (doc tokenDoc) noun() iris.Token {
	return iris.Token{
		Hash: doc.Hash, Kind: iris.TokenKind(doc.Kind), Gateway: doc.Gateway, Device: doc.Device,
		Name: doc.Name, Expires: doc.Expires, Created: doc.Created,
	}
}
