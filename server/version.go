package server

import "runtime/debug"

// version is set by the build of the container:
// -ldflags "-X iris-gateway/server.version=v1.2.3".
var version string

// Version names the source that this binary was built from: what the build was
// told, else the commit that the go command noted, with "+dirty" when files
// had changed since, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

// versionOf is the commit in info.
func versionOf(info *debug.BuildInfo) string {
	name, dirty := "devel", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			name = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	return name + dirty
}
