package handlers_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// replica is a phone that keeps what it is told: the directory, and the messages
// of each lane.
type replica struct {
	t         *testing.T
	name      string
	token     string
	instances []*instance

	mu       sync.Mutex
	peer     *peer
	welcomed bool
	cursor   *int64 // of its last sync
	syncs    int    // begun
	asked    int
	waits    map[string]string            // requests without an answer, by id
	answered map[string]bool              // requests, by id
	lanes    map[string]string            // names by key
	def      string                       // the default channel
	texts    map[string]map[string]string // of messages, by lane and id
	deleted  map[string]int               // messages, by id: how many syncs had begun
	diary    []string                     // of all that it heard and asked
}

func newReplica(t *testing.T, name, token string, instances ...*instance) *replica {
	return &replica{
		t: t, name: name, token: token, instances: instances, waits: map[string]string{}, answered: map[string]bool{},
		lanes: map[string]string{}, texts: map[string]map[string]string{}, deleted: map[string]int{},
	}
}

// key names a lane in a replica.
func key(chat, thread any) string {
	c, _ := chat.(string)
	th, _ := thread.(string)
	return c + "|" + th
}

// connect dials one of the instances, and syncs.
func (r *replica) connect(rnd *rand.Rand) {
	p := r.instances[rnd.IntN(len(r.instances))].device(r.token, r.name)
	r.mu.Lock()
	r.peer, r.welcomed = p, false
	clear(r.waits)
	r.mu.Unlock()
	go func() {
		for f := range p.frames {
			r.take(p, f)
		}
	}()
	r.sync()
}

func (r *replica) sync() {
	payload := "{}"
	r.mu.Lock()
	r.syncs++
	if r.cursor != nil {
		payload = fmt.Sprintf(`{"cursor":%d}`, *r.cursor)
	}
	r.mu.Unlock()
	r.ask("sync", "|", payload)
}

// ask sends a request. What its connection does not take is never answered.
func (r *replica) ask(kind, lane, payload string) {
	r.mu.Lock()
	r.asked++
	id, p := fmt.Sprint(r.name, "-", r.asked), r.peer
	r.waits[id] = kind
	r.diary = append(r.diary, fmt.Sprintf("> %s %s %s %s", id, kind, lane, payload))
	r.mu.Unlock()
	chat, thread, _ := strings.Cut(lane, "|")
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	_ = p.ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":%q,"id":%q,"chat_id":%q,"thread_id":%q,"payload":%s}`, kind, id, chat, thread, payload))
}

// take notes what a frame says, unless it comes by an older connection.
func (r *replica) take(p *peer, f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peer != p {
		return
	}
	r.diary = append(r.diary, fmt.Sprintf("%.200v", f))
	if id, ok := f["id"].(string); ok && id != "h" {
		if r.answered[id] {
			r.t.Errorf("%s: a second answer to %s: %v", r.name, id, f)
		}
		r.answered[id] = true
		delete(r.waits, id)
	}
	lane, is := key(f["chat_id"], f["thread_id"]), key(f.payload()["chat_id"], f.payload()["thread_id"])
	switch f["type"] {
	case "hello.ack", "channel.list":
		r.welcomed = true
		r.directory(f.payload()["channels"].([]any))
	case "channel.created":
		r.lanes[is] = f.text("name")
	case "channel.renamed":
		if _, ok := r.lanes[is]; ok {
			r.lanes[is] = f.text("name")
		}
	case "channel.deleted":
		r.forget(is)
	case "message":
		r.message(lane, f.payload(), f["cursor"] != nil)
	case "history":
		for _, m := range f.payload()["messages"].([]any) {
			r.message(lane, m.(map[string]any), false)
		}
	case "message.deleted":
		for _, id := range f.payload()["message_ids"].([]any) {
			r.deleted[id.(string)] = r.syncs
			delete(r.texts[lane], id.(string))
		}
	case "sync.done":
		cursor := int64(f.payload()["cursor"].(float64))
		r.cursor = &cursor
	case "error":
		if f.text("code") == "internal" {
			r.t.Errorf("%s: %v", r.name, f)
		}
	}
}

func (r *replica) directory(channels []any) {
	r.lanes = map[string]string{}
	for _, c := range channels {
		c := c.(map[string]any)
		r.lanes[key(c["chat_id"], c["thread_id"])] = c["name"].(string)
		if c["is_default"] == true {
			r.def = c["chat_id"].(string)
		}
	}
	maps.DeleteFunc(r.texts, func(lane string, _ map[string]string) bool { _, ok := r.lanes[lane]; return !ok })
}

// forget takes a channel with its threads, or a thread, out of the directory.
func (r *replica) forget(gone string) {
	chat, isChannel := strings.CutSuffix(gone, "|")
	for lane := range r.lanes {
		if lane == gone || isChannel && strings.HasPrefix(lane, chat+"|") {
			delete(r.lanes, lane)
			delete(r.texts, lane)
		}
	}
}

// message notes a message. In the middle of a replay the answer to a deletion
// overtakes what was read before; the deletion comes again in its turn.
func (r *replica) message(lane string, m map[string]any, replayed bool) {
	id := m["message_id"].(string)
	if syncs, gone := r.deleted[id]; gone && (!replayed || syncs < r.syncs) {
		r.t.Errorf("%s: message %s came back after it was deleted:\n%s", r.name, id, strings.Join(r.diary, "\n"))
	}
	if r.texts[lane] == nil {
		r.texts[lane] = map[string]string{}
	}
	r.texts[lane][id] = m["text"].(string)
}

func (r *replica) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.welcomed && len(r.waits) == 0
}

// String is all that it knows, in an order that any other has too.
func (r *replica) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := []string{"default " + r.def}
	for _, lane := range slices.Sorted(maps.Keys(r.lanes)) {
		lines = append(lines, fmt.Sprintf("%s %q", lane, r.lanes[lane]))
		for _, id := range slices.Sorted(maps.Keys(r.texts[lane])) {
			lines = append(lines, fmt.Sprintf("  %s %q", id, r.texts[lane][id]))
		}
	}
	return strings.Join(lines, "\n")
}

// any draws a key of a map, "none|" from an empty one.
func anyKey[V any](rnd *rand.Rand, m map[string]V) string {
	if len(m) == 0 {
		return "none|"
	}
	return slices.Sorted(maps.Keys(m))[rnd.IntN(len(m))]
}

// step does something that a person may do.
func (r *replica) step(rnd *rand.Rand) {
	r.mu.Lock()
	lane := anyKey(rnd, r.lanes)
	message, welcomed := anyKey(rnd, r.texts[lane]), r.welcomed
	r.mu.Unlock()
	chat, _, _ := strings.Cut(lane, "|")
	switch n := rnd.IntN(1000); rnd.IntN(20) {
	case 0:
		r.ask("channel.create", "|", fmt.Sprintf(`{"name":"channel %d"}`, n))
	case 1:
		r.ask("channel.create", chat+"|", fmt.Sprintf(`{"name":"thread %d","kind":"thread"}`, n))
	case 2, 3:
		r.ask("channel.rename", lane, fmt.Sprintf(`{"name":"renamed %d"}`, n))
	case 4:
		r.ask("channel.set_default", chat+"|", `{}`)
	case 5:
		r.ask("channel.delete", lane, `{}`)
	case 6, 7:
		r.ask("message.delete", lane, messageIDs(message))
	case 8:
		r.ask("read.receipt", lane, fmt.Sprintf(`{"message_id":%q}`, message))
	case 9, 10:
		r.ask("history", lane, `{"limit":5}`)
	case 11:
		r.ask("search", "|", `{"query":"word"}`)
	case 12:
		r.ask("message.send", chat+"|", fmt.Sprintf(`{"text":"a word that begins a thread %d","auto_thread":true,"client_id":"a%d"}`, n, n%20))
	case 13:
		if welcomed { // else its attachment may still be on the way, and win
			r.peer.drop()
			r.connect(rnd)
		}
	default:
		r.ask("message.send", lane, fmt.Sprintf(`{"text":"word %d of %s","client_id":"c%d"}`, n, r.name, n%200))
	}
}

// truth is what a phone sees that has just been paired.
func truth(t *testing.T, in *instance, gateway string) *replica {
	r := newReplica(t, "fresh", "")
	p := in.device(in.pair(gateway), iris.NewID("fresh_"))
	defer p.drop()
	r.take(nil, p.next("hello.ack"))
	for _, lane := range slices.Sorted(maps.Keys(r.lanes)) {
		chat, thread, _ := strings.Cut(lane, "|")
		p.send(`{"type":"history","id":"h","chat_id":%q,"thread_id":%q,"payload":{"limit":200}}`, chat, thread)
		r.take(nil, p.next("history"))
	}
	return r
}

// Four phones on two instances write, rename, delete and reconnect at random and
// all at once. Each request is answered once, nothing that was deleted comes back,
// and in the end each of them knows what a phone sees that has just been paired.
func TestPhonesTellTheTruth(t *testing.T) {
	t.Parallel()
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			testReplicas(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func testReplicas(t *testing.T, rnd *rand.Rand) {
	s := memstore.New()
	here, there := startWith(t, s, roomy), startWith(t, slowStore{s, 2 * time.Millisecond}, roomy)
	g, hostToken := here.gateway()
	here.host(hostToken, "e1", 0, 0, "")
	var phones []*replica
	for i := range 4 {
		r := newReplica(t, fmt.Sprint("phone", i), here.pair(g), here, there)
		phones = append(phones, r)
		r.connect(rnd)
		waitFor(t, "the first sync", r.idle)
	}
	for range 250 {
		r := phones[rnd.IntN(len(phones))]
		if r.step(rnd); rnd.IntN(8) == 0 {
			waitFor(t, "all answers", r.idle)
		}
	}
	for _, r := range phones {
		waitFor(t, "all answers", r.idle)
	}
	// What somebody asked for and then hung up may still go on.
	want := truth(t, here, g)
	for deadline := time.Now().Add(patience); !agree(phones, want) && time.Now().Before(deadline); {
		for _, r := range phones {
			r.sync()
			waitFor(t, "a sync", r.idle)
		}
		want = truth(t, here, g)
	}
	for _, r := range phones {
		if r.String() != want.String() {
			t.Errorf("%s knows\n%s\nthe truth is\n%s\nits diary:\n%s", r.name, r, want, strings.Join(r.diary, "\n"))
		}
	}
}

func agree(phones []*replica, want *replica) bool {
	return !slices.ContainsFunc(phones, func(r *replica) bool { return r.String() != want.String() })
}

// roomy keeps a log that no sync falls out of.
func roomy(cfg *handlers.Config) {
	cfg.Hub = hub.New(hub.Config{Store: cfg.Store.(hub.Store), LogEntries: 4096, Log: cfg.Log})
}
