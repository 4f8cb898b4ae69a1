package hub

import "iris-gateway/iris"

// guardDistance is how far below the head the entry lies that a commit marks
// while the log is not full: far enough that two appenders rarely touch the
// same one, near enough that a stale appender misses it.
const guardDistance = 200

// holdFactor bounds how far the log may outgrow its size while it waits for
// the host to fetch its inbound: beyond it messages are refused (State.Full).
// What the gateway says itself still goes in: two entries, of about 300 bytes,
// for each connection of a device while the host is away. That much more it
// grows, and shrinks again once the host is back.
const holdFactor = 4

// setRing fills in what the ring demands of the commit of entry prev.Cursor+1:
// exactly one guard, so that a stale appender lands at the head or not at all,
// and what retention drops (log.md, "Ring").
func setRing(c *iris.Commit, prev *State) {
	n := prev.Cursor
	first, kept := prev.First, n+1-prev.First
	switch {
	case kept < prev.size || holdsInbound(first, c.Entry.Host.Received, prev.LastInbound):
		c.Guard = max(first, n-guardDistance)
	case kept > prev.size && !holdsInbound(first+1, c.Entry.Host.Received, prev.LastInbound):
		c.Drop = []int64{first, first + 1} // it grew while the host was away: shrink it again
	default:
		c.Drop = []int64{first}
	}
	c.Entry.First = first + int64(len(c.Drop))
}

// holdsInbound reports whether inbound from first on may still be needed by
// the host.
func holdsInbound(first, received, lastInbound int64) bool {
	return first > received && lastInbound >= first
}
