package server

import (
	"context"

	"iris-gateway/handlers"
)

// storeChecks are what an operator is told of the places where things are kept.
func storeChecks(cfg Config, st store, media handlers.MediaStore) []handlers.Check {
	bucket := handlers.Check{Name: "bucket", Do: readiness(media)}
	if media == nil {
		bucket.Off = "there is no bucket: pictures and files are refused"
	}
	note := "memory: nothing is kept"
	if cfg.Store == StoreFirestore {
		note = "Firestore database " + cfg.Database
	}
	return []handlers.Check{{Name: "store", Note: note, Do: st.Ready}, bucket}
}

// readiness asks what can be asked.
func readiness(v any) func(context.Context) error {
	if r, ok := v.(interface{ Ready(context.Context) error }); ok {
		return r.Ready
	}
	return func(context.Context) error { return nil }
}
