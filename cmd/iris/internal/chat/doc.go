// Package chat is a chat in a terminal, line by line: what is typed goes to
// the agent, what the agent says is written as it comes. It works through
// pipes too: then each line is a message, sent when the one before is answered.
package chat
