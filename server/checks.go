package server

import (
	"iris-gateway/cloudstore"
	"iris-gateway/handlers"
)

// storeChecks are what an operator is told of the places where things are kept.
func storeChecks(cfg Config, st store) []handlers.Check {
	cloud, ok := st.(*cloudstore.Store)
	if !ok {
		return []handlers.Check{
			{Name: "store", Note: "memory, nothing is kept", Do: st.Ready}, {Name: "bucket", Off: "the store is in memory"},
		}
	}
	bucket := handlers.Check{Name: "bucket", Note: cfg.Bucket, Do: cloud.BucketReady}
	if cfg.Bucket == "" {
		bucket.Off = "IRIS_BUCKET is not set: pictures and files are refused"
	}
	return []handlers.Check{{Name: "store", Note: "Firestore, database " + cfg.Database, Do: cloud.FirestoreReady}, bucket}
}
