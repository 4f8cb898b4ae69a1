package server

import (
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
)

// What is kept in memory has a bound that no setting lifts; what is in a bucket
// has the one that was set.
func TestMediaLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store string
		quota int
		want  int64
	}{
		"memory, more than it takes": {StoreMemory, 5 << 30, memoryQuota},
		"memory, less":               {StoreMemory, 1 << 20, 1 << 20},
		"bucket":                     {"", 5 << 30, 5 << 30},
	} {
		cfg := Config{Store: c.store}
		cfg.MediaMaxBytes.N, cfg.MediaQuota.N = 1000, c.quota
		if got := mediaLimits(cfg); got.Quota != c.want || got.MaxBytes != 1000 {
			t.Errorf("%s: %+v, want a quota of %d", name, got, c.want)
		}
	}
}

// A gateway whose media are off has no place for them.
func TestMediaOff(t *testing.T) {
	t.Parallel()
	var cfg Config
	if got := openMedia(cfg, memstore.New(), nil); got != nil {
		t.Errorf("media are off, and kept in %T", got)
	}
	cfg.MediaMaxBytes.N = 1
	if got := openMedia(cfg, memstore.New(), nil); got == nil {
		t.Error("media are on, and kept nowhere")
	}
}

// The memory store keeps what was set.
func TestMemoryStore(t *testing.T) {
	t.Parallel()
	cfg := Config{Store: StoreMemory, Retention: Duration{D: time.Hour}, MediaMaxBytes: Number(1000), MediaQuota: Number(2000)}
	st, err := openStore(t.Context(), cfg, newMetrics())
	if err != nil {
		t.Fatal(err)
	}
	mem, ok := st.(*memstore.Store)
	if !ok || mem.Limits != mediaLimits(cfg) || mem.Retention != time.Hour {
		t.Errorf("opened %T with %+v", st, mem)
	}
}
