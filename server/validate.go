package server

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxMedia is what 32 parts of 8 MiB can hold, which is how many can be composed.
const maxMedia = 256 << 20

// minAdminToken is how long an admin token must be: it opens everything.
const minAdminToken = 32

// Validate checks every setting. Its error joins all faults.
func (c Config) Validate() error {
	return errors.Join( // leaves nil out
		c.Port.check("PORT", 0, 65535),
		checkAddr("IRIS_ADDR", c.Addr),
		oneOf("IRIS_STORE", c.Store, StoreFirestore, StoreMemory),
		c.checkFirestore(),
		checkName("IRIS_BUCKET", c.Bucket, bucketName, "the name of a bucket, without gs://"),
		c.MediaMaxBytes.check("IRIS_MEDIA_MAX_BYTES", 0, maxMedia),
		c.MediaQuota.check("IRIS_MEDIA_QUOTA", 0, math.MaxInt),
		c.Retention.check("IRIS_RETENTION", time.Hour),
		checkAdminToken(c.AdminToken),
		checkURL("IRIS_PUBLIC_URL", c.PublicURL),
		oneOf("IRIS_PUSH", c.Push, PushFCM, Off),
		checkURL("IRIS_FCM_ENDPOINT", c.FCMEndpoint),
		oneOf("IRIS_PUSH_PREVIEW", c.PushPreview, "true", "false", ""),
		checkURL("IRIS_NTFY_URL", c.NtfyURL),
		c.LogEntries.check("IRIS_LOG_ENTRIES", 16, 1<<20),
		oneOf("IRIS_RATE_LIMITS", c.RateLimits, On, Off),
		c.MaxSockets.check("IRIS_MAX_SOCKETS", 1, 1<<20),
		oneOf("IRIS_LOG", c.Log, LogJSON, LogText),
		checkHostPort("IRIS_METRICS_ADDR", c.MetricsAddr),
		c.checkOTLP(),
	)
}

// checkFirestore checks what only StoreFirestore looks at.
func (c Config) checkFirestore() error {
	if c.Store != StoreFirestore {
		return nil
	}
	faults := []error{
		checkName("IRIS_PROJECT", c.Project, projectID, "the id of a Google Cloud project"),
		checkHostPort("FIRESTORE_EMULATOR_HOST", c.Emulator),
	}
	if c.Emulator != "" && c.Project == "" {
		faults = append(faults, errors.New("IRIS_PROJECT: must be given with FIRESTORE_EMULATOR_HOST, for example demo-iris"))
	}
	if c.Database == "" {
		faults = append(faults, errors.New(`IRIS_DATABASE="": leave it unset for "(default)"`))
	}
	return errors.Join(append(faults, checkName("IRIS_DATABASE", c.Database, databaseID, "the id of a Firestore database"))...)
}

// checkOTLP checks what only OTLPEndpoint makes matter.
func (c Config) checkOTLP() error {
	if c.OTLPEndpoint == "" {
		return nil
	}
	return errors.Join(
		checkURL("OTEL_EXPORTER_OTLP_ENDPOINT", c.OTLPEndpoint),
		oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", c.OTLPProtocol, OTLPHTTP, ""),
		checkHeaders("OTEL_EXPORTER_OTLP_HEADERS", c.OTLPHeaders),
	)
}

// Names that Google gives out are checked for what surely is none.
var (
	projectID  = regexp.MustCompile(`^[a-z][a-z0-9.:-]{1,62}$`)
	databaseID = regexp.MustCompile(`^(\(default\)|[a-z][a-z0-9-]{1,62})$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)
)

func checkName(name, value string, pattern *regexp.Regexp, what string) error {
	if value == "" || pattern.MatchString(value) {
		return nil
	}
	return fmt.Errorf("%s=%q: must be %s", name, value, what)
}

// oneOf allows some values; "" as the last one is not told of.
func oneOf(name, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("%s=%q: must be %s", name, value, strings.TrimSuffix(strings.Join(allowed, " or "), " or "))
}

func checkAddr(name, value string) error {
	if _, err := netip.ParseAddr(value); err == nil || value == "" || value == "localhost" {
		return nil
	}
	return fmt.Errorf("%s=%q: must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all", name, value)
}

func checkHostPort(name, value string) error {
	if value == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(value)
	if n, e := strconv.Atoi(port); err != nil || e != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%s=%q: must be host and port, such as 127.0.0.1:9090", name, value)
	}
	return nil
}

// checkURL does not repeat a value that may hold a password or token.
func checkURL(name, value string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	switch {
	case strings.Contains(value, "@"):
		return errors.New(name + ": must not hold a user or password")
	case strings.ContainsAny(value, "?#"):
		return errors.New(name + ": must end with the path")
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("%s=%q: must be like https://iris.example.org", name, value)
	}
	return nil
}

func checkHeaders(name string, value Secret) error {
	if value == "" {
		return nil
	}
	for i, pair := range strings.Split(string(value), ",") {
		key, text, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(text); !ok || err != nil || !headerName.MatchString(strings.TrimSpace(key)) {
			return fmt.Errorf("%s: header %d is not like name=value", name, i+1)
		}
	}
	return nil
}

func checkAdminToken(token Secret) error {
	const how = "`openssl rand -base64 32` makes a good one"
	switch n := len(token); {
	case n == 0:
		return errors.New("IRIS_ADMIN_TOKEN: is required; " + how)
	case strings.TrimSpace(string(token)) != string(token):
		return errors.New("IRIS_ADMIN_TOKEN: begins or ends with white space")
	case n < minAdminToken:
		return fmt.Errorf("IRIS_ADMIN_TOKEN: has %d characters, needs at least %d; %s", n, minAdminToken, how)
	}
	return nil
}
