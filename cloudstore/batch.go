package cloudstore

//lint:file-ignore SA1019 WriteBatch is deprecated in favour of two things that
// do not keep what the log needs: an answer lost in RunTransaction ends in
// InvalidArgument, which reads as "never repeat", and BulkWriter is not atomic
// (log.md, "Commit").

import (
	"context"

	"cloud.google.com/go/firestore"
)

// writeBatch is a set of writes that land together, in order, or not at all.
type writeBatch struct {
	batch *firestore.WriteBatch
	store *Store
	ops   []operation
}

type operation struct {
	op      Operation
	purpose string
}

func (s *Store) batch() *writeBatch { return &writeBatch{batch: s.client.Batch(), store: s} }

func (b *writeBatch) note(op Operation, purpose string) {
	b.ops = append(b.ops, operation{op, purpose})
}

// Create adds a document, which must not exist.
func (b *writeBatch) Create(ref *firestore.DocumentRef, doc any) {
	b.batch.Create(ref, doc)
	b.note(Write, purposeOf(Write, ref))
}

// Set adds or replaces a document.
func (b *writeBatch) Set(ref *firestore.DocumentRef, doc any) {
	b.batch.Set(ref, doc)
	b.note(Write, purposeOf(Write, ref))
}

// Update changes fields of a document, which must exist.
func (b *writeBatch) Update(ref *firestore.DocumentRef, up []firestore.Update, pre ...firestore.Precondition) {
	b.batch.Update(ref, up, pre...)
	b.note(Write, purposeOf(Write, ref))
}

// Guard marks an entry, which must exist.
func (b *writeBatch) Guard(ref *firestore.DocumentRef) {
	b.batch.Update(ref, []firestore.Update{{Path: "guard", Value: true}})
	b.note(Write, purposeGuard)
}

// Delete removes a document.
func (b *writeBatch) Delete(ref *firestore.DocumentRef, pre ...firestore.Precondition) {
	b.batch.Delete(ref, pre...)
	b.note(Delete, purposeOf(Delete, ref))
}

// Commit does the writes.
func (b *writeBatch) Commit(ctx context.Context) error {
	_, err := b.batch.Commit(ctx)
	if err == nil {
		for _, o := range b.ops {
			b.store.spend(o.op, o.purpose, 1)
		}
	}
	return err
}
