package server

import (
	"log/slog"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

// memoryQuota is how many bytes of media of a gateway the memory store takes.
const memoryQuota = 512 << 20

// mediaLimits returns the limits that cfg sets.
func mediaLimits(cfg Config) iris.MediaLimits {
	limits := iris.MediaLimits{MaxBytes: int64(cfg.MediaMaxBytes.N), Quota: int64(cfg.MediaQuota.N)}
	if cfg.Store == StoreMemory {
		limits.Quota = min(limits.Quota, memoryQuota)
	}
	return limits
}

// openMedia returns where the store keeps media, nil if nowhere.
func openMedia(cfg Config, st store, log *slog.Logger) handlers.MediaStore {
	if cfg.MediaMaxBytes.N == 0 {
		return nil
	}
	switch st := st.(type) {
	case *memstore.Store:
		return st
	case *cloudstore.Store:
		if st.Library != nil {
			return st
		}
	}
	log.Warn("media is off: set IRIS_BUCKET to a Cloud Storage bucket")
	return nil
}
