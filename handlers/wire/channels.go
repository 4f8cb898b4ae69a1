package wire

import (
	"strings"
	"unicode/utf8"

	"iris-gateway/iris"
)

// Requests about the directory. Which channel or thread they mean stands in the
// envelope (protocol: One answer per request).
const (
	TypeChannelCreate     = "channel.create"
	TypeChannelRename     = "channel.rename"
	TypeChannelSetDefault = "channel.set_default"
	TypeChannelDelete     = "channel.delete"
)

// Payloads of the requests about the directory.
type (
	// ChannelCreate makes a channel, or a thread of the channel in the envelope.
	ChannelCreate struct {
		Name string `json:"name" jsonschema:"required"`
		Kind string `json:"kind" jsonschema:"enum=channel,enum=thread"` // absent = channel
	}

	// ChannelRename renames a channel or thread.
	ChannelRename struct {
		Name string `json:"name" jsonschema:"required"`
	}

	// ChannelSetDefault makes a channel the default one.
	ChannelSetDefault struct{}

	// ChannelDelete deletes a channel with its threads, or a thread.
	ChannelDelete struct{}
)

// Frames about the directory (protocol: Channels and threads).
type (
	// ChannelList is the whole directory: the default channel is another one.
	ChannelList struct {
		Channels []Channel `json:"channels"`
	}

	// ChannelCreated tells of a new channel or thread.
	ChannelCreated struct {
		ChatID       string `json:"chat_id"`
		ThreadID     string `json:"thread_id,omitempty"`
		Name         string `json:"name"`
		Kind         string `json:"kind" jsonschema:"enum=channel,enum=thread"`
		ParentChatID string `json:"parent_chat_id,omitempty"` // of a thread: its chat_id
		Auto         bool   `json:"auto,omitempty"`           // made for a message; its name will be replaced by a title
	}

	// ChannelRenamed tells the new name of a channel or thread.
	ChannelRenamed struct {
		ChatID       string `json:"chat_id"`
		ThreadID     string `json:"thread_id,omitempty"`
		ParentChatID string `json:"parent_chat_id,omitempty"`
		Name         string `json:"name"`
	}

	// ChannelDeleted tells that a channel, with the threads that it names, or a
	// thread is gone.
	ChannelDeleted struct {
		ChatID       string   `json:"chat_id"`
		ThreadID     string   `json:"thread_id,omitempty"`
		ParentChatID string   `json:"parent_chat_id,omitempty"`
		ThreadIDs    []string `json:"thread_ids,omitempty"`
	}
)

// FrameType implements [Payload].
func (ChannelList) FrameType() string    { return "channel.list" }
func (ChannelCreated) FrameType() string { return "channel.created" }
func (ChannelRenamed) FrameType() string { return "channel.renamed" }
func (ChannelDeleted) FrameType() string { return "channel.deleted" }

// Validate checks what is to be made, and cleans the name (protocol: Rules).
func (c *ChannelCreate) Validate() error {
	switch c.Kind {
	case "":
		c.Kind = iris.KindChannel
	case iris.KindChannel, iris.KindThread:
	default:
		return iris.Errorf(iris.CodeUnsupported, "kind is neither %q nor %q", iris.KindChannel, iris.KindThread)
	}
	return channelName(&c.Name)
}

// Validate cleans and checks the new name (protocol: Rules).
func (c *ChannelRename) Validate() error { return channelName(&c.Name) }

// channelName cleans a name; 1–100 characters must be left.
func channelName(name *string) error {
	*name = strings.TrimSpace(CleanName(*name))
	if *name == "" {
		return iris.Errorf(iris.CodeUnsupported, "name is empty, it may have 1 to %d characters", MaxChannelName)
	}
	if n := utf8.RuneCountInString(*name); n > MaxChannelName {
		return iris.Errorf(iris.CodeUnsupported, "name has %d characters, it may have 1 to %d", n, MaxChannelName)
	}
	return nil
}
