package cloudstore

//lint:file-ignore SA1019 WriteBatch is deprecated in favour of two things that
// do not keep what the log needs: an answer lost in RunTransaction ends in
// InvalidArgument, which reads as "never repeat", and BulkWriter is not atomic
// (log.md, "Commit").

import "cloud.google.com/go/firestore"

// writeBatch is a set of writes that land together, in order, or not at all.
type writeBatch = firestore.WriteBatch

func (s *Store) batch() *writeBatch { return s.client.Batch() }
