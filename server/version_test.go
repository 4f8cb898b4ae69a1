package server

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	setting := func(kv ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(kv); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return info
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for want, info := range map[string]*debug.BuildInfo{
		"devel":              setting("-ldflags", "-s -w -X main.x=y", "-trimpath", "true", "vcs.revision", "short"),
		"0123456789ab":       setting("vcs.revision", commit, "vcs.modified", "false"),
		"0123456789ab+dirty": setting("vcs.modified", "true", "vcs.revision", commit),
	} {
		if got := versionOf(info); got != want {
			t.Errorf("%v: %q, want %q", info.Settings, got, want)
		}
	}
}

// A version that the build was told goes before all else.
func TestVersion(t *testing.T) {
	t.Cleanup(func() { version = "" })
	if Version() == "" {
		t.Error("a build that was told nothing has no name")
	}
	version = "v1.2.3"
	if got := Version(); got != version {
		t.Errorf("Version() = %q, want %q", got, version)
	}
}
