package cloudstore

import "cloud.google.com/go/firestore"

// Operation is something that Firestore bills.
type Operation string

// The operations.
const (
	Read   Operation = "read"
	Write  Operation = "write"
	Delete Operation = "delete"
)

// Purposes of operations on the log that are not plain entries. All other
// purposes are the names of the collections (log.md, "Rows").
const (
	purposeGuard    = "guard"         // marks an entry, so that a stale appender is refused
	purposeRing     = "ring"          // drops what the log no longer keeps
	purposeListener = "listener"      // what another instance wrote into the log
	purposeLive     = "live_listener" // text that streams to another instance
)

// spend tells whoever counts of n operations.
func (s *Store) spend(op Operation, purpose string, n int) {
	if s.told != nil && n > 0 {
		s.told(op, purpose, n)
	}
}

// spent tells of one operation on a document, unless it failed.
func (s *Store) spent(op Operation, ref *firestore.DocumentRef, err error) {
	if err == nil {
		s.spend(op, purposeOf(op, ref), 1)
	}
}

// heard counts the reads of a listener's snapshot: a document that was deleted
// is none.
func heard(changes []firestore.DocumentChange) int {
	n := 0
	for _, ch := range changes {
		if ch.Kind != firestore.DocumentRemoved {
			n++
		}
	}
	return n
}

func purposeOf(op Operation, ref *firestore.DocumentRef) string {
	if name := ref.Parent.ID; name != "outbox" || op != Delete {
		return name
	}
	return purposeRing
}
