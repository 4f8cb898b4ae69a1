package testenv

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// secretsFile is in the folder of logs: a JSON value each line, in which
// secretKeys name what is secret. The plugin's tests write one too
// (plugin/tests/confide.py).
const secretsFile = "secrets.jsonl"

// class tells what may show a secret.
type class string

const (
	token class = "token" // no log may
	text  class = "text"  // no log of ours may; hermes' own do
)

// secretKeys are the fields of frames, admin calls and host events that hold a
// token, or what a person or an agent wrote, asked, named or sent. Not among them are
// ids, which logs name things by, names of tools and models, and what programs say.
var secretKeys = map[string]class{
	"token": token, "host_token": token, "fcm_token": token, "ntfy_topic": token,

	"text": text, "final_text": text, "reasoning": text, "question": text, "caption": text, "title": text,
	"output_tail": text, "output_preview": text, "preview": text, "note": text, "command": text, "args": text,
	"query": text, "snippet": text, "filename": text, "thread_name": text, "device_name": text, "job": text,
	"label": text, "value": text,
}

// confided remembers what was written to the file of secrets, which other
// processes of the run write to as well.
var confided struct {
	sync.Mutex
	known map[secret]bool
}

// Confide tells the run tokens, or anything else that no log may show.
func Confide(tokens ...string) { confide(token, tokens) }

// ConfideText tells the run what somebody wrote: no log of ours may show it.
func ConfideText(texts ...string) { confide(text, texts) }

func confide(class class, values []string) {
	found := make([]secret, len(values))
	for i, v := range values {
		found[i] = secret{class, v}
	}
	keep(found)
}

// ConfideFrame confides the texts and tokens in a frame, or in any other JSON, be
// it several values; what is none is left out.
func ConfideFrame(data []byte) {
	if os.Getenv(EnvLogs) != "" {
		keep(secretsIn(data))
	}
}

// keep writes what is new to the file of secrets.
func keep(secrets []secret) {
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		return
	}
	confided.Lock()
	defer confided.Unlock()
	if confided.known == nil {
		confided.known = map[secret]bool{}
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, s := range secrets {
		if p := pieceOf(s.value); p != "" {
			s.value = p // the rest of it is not needed
		}
		if s.value != "" && !confided.known[s] {
			confided.known[s] = true
			_ = enc.Encode(map[class]string{s.class: s.value}) // a buffer takes everything
		}
	}
	if lines.Len() == 0 {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, secretsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the scan would find nothing and say that all is well
	}
	defer f.Close()
	if _, err := f.Write(lines.Bytes()); err != nil {
		panic(err)
	}
}

// secretsIn finds the secrets in JSON values that follow each other.
func secretsIn(data []byte) []secret {
	var found []secret
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var v any
		if dec.Decode(&v) != nil {
			return found
		}
		found = appendSecrets(found, "", v)
	}
}

// ownPhrase is in the lines that the plugin itself adds to texts. It logs the same.
const ownPhrase = " could not be sent"

// withoutOwn leaves such lines out.
func withoutOwn(text string) string {
	if !strings.Contains(text, ownPhrase) {
		return text
	}
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, ownPhrase) })
	return strings.Join(lines, "\n")
}

// appendSecrets adds those in v; all its strings if it is the value of a secret key.
func appendSecrets(found []secret, under class, v any) []secret {
	switch v := v.(type) {
	case string:
		if under != "" {
			found = append(found, secret{under, withoutOwn(v)})
		}
	case []any:
		for _, x := range v {
			found = appendSecrets(found, under, x)
		}
	case map[string]any:
		for key, x := range v {
			class, ok := secretKeys[key]
			if !ok {
				class = under
			} else if key == "device_name" && x == v["device_id"] {
				continue // tests call them the same, and ids are no secrets
			}
			found = appendSecrets(found, class, x)
		}
	}
	return found
}
