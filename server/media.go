package server

import (
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

// openMedia returns where media is kept, nil if nowhere, and its limits.
func openMedia(_ Config, st store) (handlers.MediaStore, iris.MediaLimits) {
	if mem, ok := st.(*memstore.Store); ok {
		return mem, mem.Limits
	}
	return nil, iris.MediaLimits{}
}
