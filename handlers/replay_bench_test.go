package handlers_test

import (
	"strings"
	"testing"

	"iris-gateway/cloudstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// BenchmarkReplay is a sync of 2,000 entries, and the bare query of the same
// entries that it is to be compared with, on the emulator.
func BenchmarkReplay(b *testing.B) {
	const entries = 2000
	st, err := cloudstore.Open(b.Context(), cloudstore.Config{Project: testenv.Firestore(b).Project, MaxSockets: 10})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	in := startWith(b, st, func(c *handlers.Config) {
		c.Hub = hub.New(hub.Config{Store: st, LogEntries: 2 * entries, Log: testenv.Logger(b, testenv.Gateways)})
	})
	g, _ := in.gateway()
	fill(b, st, g, entries)
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			for after := int64(0); after < entries; {
				page, err := st.Entries(b.Context(), g, after, 200)
				if err != nil {
					b.Fatal(err)
				}
				after = page[len(page)-1].Cursor
			}
		}
	})
	b.Run("sync", func(b *testing.B) {
		phone := in.device(in.pair(g), "d1")
		phone.next("status")
		for b.Loop() {
			phone.send(`{"type":"sync","id":1,"payload":{"cursor":0}}`)
			phone.next("sync.done")
		}
	})
	in.stop()
}

// fill writes a log of answers of ordinary length.
func fill(b *testing.B, st *cloudstore.Store, g string, entries int64) {
	b.Helper()
	lane := iris.Lane{ChatID: iris.DefaultChat}
	frame := wire.Encode(lane, wire.MessageStop{MessageID: "m_1", FinalText: strings.Repeat("An answer of some length. ", 20)})
	for cursor := int64(1); cursor <= entries; cursor++ {
		c := iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: "w_fill", Batch: cursor, First: 1, Frames: []string{frame}, Lanes: []iris.Lane{lane}}}
		if cursor > 1 {
			c.Guard = max(1, cursor-200)
		}
		if err := st.Append(b.Context(), g, c); err != nil {
			b.Fatal(err)
		}
	}
}
