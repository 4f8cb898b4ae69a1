package wire

import (
	"strings"

	"iris-gateway/iris"
)

// Requests about what was said: to find it, to delete it.
const (
	TypeSearch        = "search"
	TypeMessageDelete = "message.delete"
)

// Scopes of a search.
const (
	ScopeAll  = "all"
	ScopeChat = "chat"
)

type (
	// SearchRequest looks for messages. With scope chat the lane is named in the
	// payload or the envelope.
	SearchRequest struct {
		Query    string `json:"query" jsonschema:"required"`
		Scope    string `json:"scope" jsonschema:"enum=all,enum=chat"` // absent = all
		ChatID   string `json:"chat_id,omitempty"`
		ThreadID string `json:"thread_id,omitempty"`
		Next     string `json:"next,omitempty"` // of the page before this one
	}

	// MessageDelete deletes messages for good.
	MessageDelete struct {
		MessageIDs []string `json:"message_ids" max:"200" jsonschema:"required"`
	}

	// SearchResults are messages that were found, newest first.
	SearchResults struct {
		Query   string      `json:"query"`
		Scope   string      `json:"scope"`
		Hits    []SearchHit `json:"hits"`
		HasMore bool        `json:"has_more"`       // there is more, found or not looked at yet
		Next    string      `json:"next,omitempty"` // asks for what follows, with the same query
	}

	// MessageDeleted tells that messages are gone.
	MessageDeleted struct {
		MessageIDs []string `json:"message_ids"`
	}
)

// SearchHit is a message that was found.
type SearchHit struct {
	MessageID string    `json:"message_id"`
	ChatID    string    `json:"chat_id"`
	ThreadID  string    `json:"thread_id,omitempty"`
	Role      iris.Role `json:"role"`
	Snippet   string    `json:"snippet"`
	TS        int64     `json:"ts"` // ms since 1970
}

// FrameType implements [Payload].
func (SearchResults) FrameType() string  { return "search.results" }
func (MessageDeleted) FrameType() string { return "message.deleted" }

// Validate checks what is looked for; an absent scope is all.
func (s *SearchRequest) Validate() error {
	switch s.Scope {
	case "":
		s.Scope = ScopeAll
	case ScopeAll, ScopeChat:
	default:
		return iris.Errorf(iris.CodeUnsupported, "scope is neither %q nor %q", ScopeAll, ScopeChat)
	}
	if strings.TrimSpace(s.Query) == "" {
		return iris.Errorf(iris.CodeUnsupported, "query is empty")
	}
	if err := CheckID("next", s.Next); err != nil {
		return err
	}
	return checkLength("query", s.Query, MaxQuery)
}

// Validate checks what is to be deleted.
func (m *MessageDelete) Validate() error {
	if len(m.MessageIDs) == 0 {
		return iris.Errorf(iris.CodeUnsupported, "message_ids is empty")
	}
	for _, id := range m.MessageIDs {
		if id == "" {
			return iris.Errorf(iris.CodeUnsupported, "message_ids has an empty item")
		}
		if err := CheckID("an item of message_ids", id); err != nil {
			return err
		}
	}
	return nil
}
