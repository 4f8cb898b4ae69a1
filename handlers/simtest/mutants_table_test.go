package simtest

// Files of the mutants.
const (
	commitGo    = "handlers/hub/commit.go"
	deviceGo    = "handlers/hub/device.go"
	fanoutGo    = "handlers/hub/fanout.go"
	hostGo      = "handlers/hub/host.go"
	liveGo      = "handlers/hub/live.go"
	watchGo     = "handlers/hub/watch.go"
	overGo      = "handlers/hub/over.go"
	ringGo      = "handlers/hub/ring.go"
	tailGo      = "handlers/hub/tail.go"
	eventsGo    = "handlers/host_events.go"
	sessionGo   = "handlers/host_session.go"
	gatewayGo   = "handlers/hub/gateway.go"
	receiptsGo  = "handlers/receipts.go"
	syncGo      = "handlers/sync.go"
	followGo    = "cloudstore/follow.go"
	storeLogGo  = "cloudstore/memstore/log.go"
	storeRowGo  = "cloudstore/memstore/changes.go"
	storeLiveGo = "cloudstore/memstore/live.go"
	storeDevGo  = "cloudstore/memstore/devices.go"
)

// mutants are the rules that have a reason beside them.
var mutants = []mutant{
	{"cas", "Create outbox/{n+1} is the compare-and-set", []edit{{storeLogGo,
		"	if !gw.insert(&c.Entry) {\n		return refused(\"entry %d exists\", c.Entry.Cursor)\n	}\n",
		"	gw.remove(c.Entry.Cursor)\n	gw.insert(&c.Entry)\n"}}},
	{"own-commit", "n+1 is mine by writer and batch: it was my commit", []edit{{commitGo,
		"case entries[0].Writer == c.Entry.Writer && entries[0].Batch == c.Entry.Batch:", "case false:"}}},
	{"same-batch", "no answer: the same batch again, unchanged", []edit{{commitGo,
		"		default: // no answer: the same commit again, unchanged\n", "		default:\n			return conflict, nil\n"}}},
	{"create-row", "a client's message is written with Create", []edit{{storeRowGo,
		"if _, taken := gw.messages[c.Message.ID]; taken {", "if false {"}}},
	{"event-seq", "a host event ≤ host.seq is dropped", []edit{
		{eventsGo, "if seq > 0 && seq <= mark.Seq {", "if false {"},
		{eventsGo, "if ev.Seq > 0 && ev.Seq <= h.taken {", "if false {"}}},
	{"epoch", "a new epoch begins with event 1", []edit{{hostGo, "if mark.Epoch != epoch {", "if false {"}}},
	{"ack-before", "the host's event is acknowledged after its commit, never before", []edit{{eventsGo,
		"	upTo := h.taken\n", "	upTo := h.taken\n	h.ack(upTo)\n"}}},
	{"frame-before", "a terminal frame goes to sockets after its commit", []edit{
		{commitGo, "		a.flight = g\n", "		a.flight = g\n		a.fanOut(g.commit.Entry, g)\n"},
		{tailGo, "	a.fanOut(e, own)\n", "	if own == nil {\n		a.fanOut(e, own)\n	}\n"}}},
	{"live-overtakes", "a live frame never passes a terminal frame of its lane that waits", []edit{{fanoutGo,
		"if p := a.lastOf(lane); p != nil {", "if p := a.lastOf(lane); p != nil && lane == (iris.Lane{}) {"}}},
	{"first-guard", "the first append has a guard too", []edit{{ringGo,
		"	n := prev.Cursor\n", "	n := prev.Cursor\n	if n == 1 {\n		c.Entry.First = 1\n		return\n	}\n"}}},
	{"ring-hold", "the ring never takes what the host has not received", []edit{{ringGo,
		"	return first > received && lastInbound >= first\n", "	return false\n"}}},
	{"ring-shrink", "an append deletes two until K is reached again", []edit{{ringGo,
		"case kept > prev.size && !holdsInbound(", "case kept > 1<<40 && !holdsInbound("}}},
	{"ring-full", "at 4 K message.send is refused", []edit{{"handlers/hub/state.go", "s.Cursor+1-s.First >= holdFactor*s.size", "false"}}},
	{"tail-once", "the tail de-duplicates by cursor", []edit{{tailGo,
		"		if e.Cursor > a.state.Cursor && !a.flying(e) {\n			a.ahead[e.Cursor] = e\n		}\n", "		a.advance(e, nil)\n"}}},
	{"tail-backfill", "a hole in front of entries is read from the log", []edit{{tailGo,
		"	if len(a.ahead) > 0 && a.flight == nil {\n		a.backfill()\n	}\n", ""}}},
	{"listen-anew", "a listener that ended is made anew", []edit{{tailGo,
		"			g.log.Warn(\"follow the log\", \"err\", err)\n", "			return\n"}}},
	{"gap", "complete ⇔ cursor ≥ first−1", []edit{{syncGo, "complete = false // older entries are gone", ""}}},
	{"hold", "live frames are held until the sync was answered", []edit{{deviceGo, "d.pos, d.live = r.Cursor, fresh\n", "d.pos, d.live = r.Cursor, true\n"}}},
	{"receipt", "the receipt is the pong of a ping behind the frames", []edit{{receiptsGo, "if r.session.ws.Ping(ctx) != nil {", "if false {"}}},
	{"pong", "pongs count only after a sync was answered", []edit{{receiptsGo, "if cursor <= confirmed || !counts {", "if _ = counts; cursor <= confirmed {"}}},
	{"receipt-once", "one read.receipt per message, decided on host.received", []edit{{sessionGo, " && m.cursor > s.Host.Received && ", " && m.cursor > 0 && "},
		{sessionGo, "if cursor <= h.counted {", "if false {"}}},
	{"received-carried", "host.received is carried forward", []edit{{sessionGo, "mark.Received = max(mark.Received, min(cursor, s.Cursor))", "_ = cursor"}}},
	{"newest-device", "the newest link of a device wins", []edit{{deviceGo,
		"d := a.devices[c.Device]; d != nil && d.Link.ID != c.Link.ID {", "d := a.devices[c.Device]; d != nil && d.Link.ID == \"\" {"}}},
	{"newest-host", "the newest link of the host wins", []edit{{deviceGo,
		"h := a.host; h != nil && h.Link.ID != c.Link.ID {", "h := a.host; h != nil && h.Link.ID == \"\" {"}}},
	{"same-entry", "of two links in one entry the newer wins", []edit{{deviceGo,
		"if r.Err == nil && a.state.devices[d.ID].ID != d.Link.ID {", "if false {"}}},
	{"detach-newer", "a detachment leaves the row of a newer link alone", []edit{{deviceGo,
		"if s.devices[d.ID].ID != d.Link.ID { // the row names a newer one", "if false {"}}},
	{"ended-live", "a live document does not bring back what has ended", []edit{{overGo,
		"	t.Messages = slices.DeleteFunc(", "	return t\n	t.Messages = slices.DeleteFunc("}}},
	{"culprit", "rejected: halve the group, refuse the culprit alone", []edit{{commitGo,
		"		if len(g.proposals) == 1 {\n", "		if len(g.proposals) > 0 {\n"}}},
	{"acked-in-log", "what yields nothing durable is acked when an entry contains it", []edit{{eventsGo, "h.contain(a, h.void)", "h.ack(h.void)"}}},
}

// directedMutants are the rules with a test of their own.
var directedMutants = []directed{
	{mutant{"superseded-events", "a host event of another epoch is dropped", []edit{{eventsGo,
		"	case s.HostLink.ID != h.host.Link.ID:\n		return hub.Draft{}, errSuperseded\n	case s.Loads", "	case s.Loads"}}},
		"handlers", "TestEventOfALostSpool"},
	{mutant{"void-contained", "an entry contains no event behind its last frame, but the one that is made for it", []edit{{commitGo,
		"	if d.empty() {\n		return\n	}\n	g.empty = false\n	if d.Host != nil {\n		next.Host = *d.Host\n	}\n",
		"	if d.Host != nil {\n		next.Host = *d.Host\n	}\n	if d.empty() {\n		return\n	}\n	g.empty = false\n"}}},
		"handlers", "TestEventsBehindTheLastFrame"},
	{mutant{"void-kept", "an entry that contains the edits of an open message keeps its text", []edit{{eventsGo, "	if !h.unkept {", "	if true {"}}},
		"handlers", "TestContainedTextIsKept"},
	{mutant{"superseded-live", "what a host sent by its old link and waits is not shown", []edit{{deviceGo, "				a.dropLive()\n", ""}}},
		"handlers", "TestLiveFramesOfAnOldConnection"},
	{mutant{"ended-waiting", "a live frame that waited does not come after the end of its message", []edit{{overGo,
		"	switch p := f.of.(type) {", "	return false\n	switch p := f.of.(type) {"}}},
		"handlers", "TestLiveFrameThatWaitedTooLong"},
	{mutant{"live-update", "after its creation a live document is only updated: a late write leaves no ghost", []edit{{liveGo,
		"if known[live.Turn] {", "if false {"}}},
		"handlers", "TestLiveDocumentEndsWithItsTurn"},
	{mutant{"live-elsewhere", "who has lost the host makes no live document: its successor would not know of it", []edit{{storeLiveGo,
		"if gw.row.Host.Link.Instance != l.Writer {", "if false {"}}},
		"cloudstore/memstore", "TestContract"},
	{mutant{"live-unanswered", "a live document whose creation was not answered ends with its turn too", []edit{{liveGo,
		"			if !known[live.Turn] {", "			if false {"}}},
		"handlers", "TestUnansweredLiveDocument"},
	{mutant{"live-dropped", "a live document is deleted in the batch that ends its turn", []edit{{liveGo,
		"		changes = append(changes, iris.DropLive{Turn: turn})\n", ""}}},
		"handlers", "TestLiveDocumentEndsWithItsTurn"},
	{mutant{"live-ghost", "a live document whose turn is not its lane's is ignored", []edit{{watchGo,
		"if !ok || c.Busy == \"\" || c.Busy != unknownTurn && c.Busy != l.Turn {", "if _ = c; !ok {"}}},
		"handlers", "TestGhost"},
	{mutant{"replay-store", "replay reads the store, never a cache", []edit{
		{gatewayGo, "	slot  *slot //", "	cache []iris.Entry\n	slot  *slot //"},
		{gatewayGo, "	return g.hub.cfg.Store.Entries(ctx, g.ID, after, pageSize)\n",
			"	var kept []iris.Entry\n	_ = g.Call(ctx, func(*Actor) { kept = g.cache })\n	for i, e := range kept {\n		if e.Cursor == after+1 {\n" +
				"			return kept[i:], nil\n		}\n	}\n	return g.hub.cfg.Store.Entries(ctx, g.ID, after, pageSize)\n"},
		{tailGo, "	a.fanOut(e, own)\n", "	a.g.cache = append(a.g.cache, e)\n	a.fanOut(e, own)\n"}}},
		"handlers", "TestReplayReadsTheStore"},
	{mutant{"ring-guard", "the batch has a guard: a stale appender lands at the head or not at all", []edit{
		{storeLogGo, "if c.Guard != 0 {", "if false {"},
		{storeLogGo, "		if !gw.remove(cursor) {\n			return", "		if gw.remove(cursor); false {\n			return"}}},
		"handlers", "TestStaleAppender"},
	{mutant{"own-writer", "the listener leaves one's own entries out", []edit{{tailGo, "after, g.actor.writer, func", "after, \"\", func"}}},
		"handlers", "TestOperationsOfATurn"},
	{mutant{"host-behind", "entries ≤ the host's cursor are not sent to it", []edit{{hostGo, "if h.live && e.Cursor > h.pos {", "if h.live {"}}},
		"handlers", "TestBacklogAheadOfTheTail"},
	{mutant{"gone", "a connection that has ended is not attached", []edit{{deviceGo, "case d.gone || d.Socket.closes():", "case d.Socket.closes():"}}},
		"handlers/hub", "TestEndedConnectionIsNotAttached"},
	{mutant{"too-large", "an item above 700 KiB is refused", []edit{{commitGo, "if p.err == nil && !w.fits() {", "if false {"}}},
		"handlers", "TestItemTooLargeForTheLog"},
	{mutant{"going", "nor one that is being closed", []edit{{deviceGo, "case d.gone || d.Socket.closes():", "case d.gone:"}}},
		"handlers/hub", "TestEndedConnectionIsNotAttached"},
	{mutant{"late", "an older connection does not take over from a newer one", []edit{{deviceGo,
		"	return newest.At.Sub(l.At) > linkSlack\n", "	return false\n"}}},
		"handlers", "TestLateAttachment"},
	{mutant{"late-epoch", "nor the host of an epoch that was given up", []edit{{hostGo,
		"case s.Host.Epoch != epoch && s.HostLink.At.After(h.Link.At):", "case false:"}}},
		"handlers", "TestLateAttachmentOfALostSpool"},
	{mutant{"only-added", "only added changes of the listened query count: a guard and a scrub change entries too", []edit{{followGo,
		"if ch.Kind != firestore.DocumentAdded {", "if false {"}}},
		"cloudstore", "TestContract"},
	{mutant{"listen-client", "listeners have a client of their own, or commits wait behind them", []edit{{followGo,
		"outbox(s.listen, g)", "outbox(s.client, g)"}}},
		"cloudstore", "TestCommitsPassListeners"},
	{mutant{"cursor-forward", "a device's cursor only moves forward", []edit{{storeDevGo, "max(row.Cursor, cursor)", "cursor"}}},
		"cloudstore/memstore", "TestContract"},
}
