package server

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kelseyhightower/envconfig"
)

// Config is everything that can be set about a gateway. [Load] fills it from
// the environment; `iris dev` and tests write it down. Nothing logs it.
type Config struct {
	// Port to listen on; 0 takes a free one. Cloud Run sets it.
	Port Int `envconfig:"PORT" default:"8080"`

	// Addr is the address to listen on.
	Addr string `envconfig:"IRIS_ADDR" default:"0.0.0.0"`

	// Store says where everything is kept: StoreFirestore, or StoreMemory for
	// one process that keeps nothing.
	Store string `envconfig:"IRIS_STORE" default:"firestore"`

	// Project is the Google Cloud project. Empty: GOOGLE_CLOUD_PROJECT, else
	// the metadata server is asked. With an emulator it must be given.
	Project string `envconfig:"IRIS_PROJECT"`

	// Database is the Firestore database.
	Database string `envconfig:"IRIS_DATABASE" default:"(default)"`

	// Bucket is the Cloud Storage bucket of the media. Empty: with StoreFirestore
	// media is off.
	Bucket string `envconfig:"IRIS_BUCKET"`

	// MediaMaxBytes is how large a medium may be, 256 MiB at most; 0: media is off.
	MediaMaxBytes Int `envconfig:"IRIS_MEDIA_MAX_BYTES" default:"67108864"`

	// MediaQuota is how many bytes all media of one gateway may have. StoreMemory
	// takes memoryQuota at most.
	MediaQuota Int `envconfig:"IRIS_MEDIA_QUOTA" default:"5368709120"`

	// AdminToken is what the operator shows under /admin. Required.
	AdminToken Secret `envconfig:"IRIS_ADMIN_TOKEN"`

	// PublicURL is the gateway's address as phones see it, for pairing URLs.
	// Empty: taken from the request.
	PublicURL string `envconfig:"IRIS_PUBLIC_URL"`

	// Push says whether devices are woken by FCM: PushFCM, or Off. With an
	// emulator or the memory store and no FCMEndpoint it is off.
	Push string `envconfig:"IRIS_PUSH" default:"fcm"`

	// FCMEndpoint is for tests: another FCM base URL, called without credentials.
	FCMEndpoint string `envconfig:"IRIS_FCM_ENDPOINT"`

	// PushPreview says whether pushes tell what they are about: "true", or
	// "false" for no text in pushes.
	PushPreview string `envconfig:"IRIS_PUSH_PREVIEW" default:"true"`

	// NtfyURL is an ntfy server for devices without FCM; off when empty.
	NtfyURL string `envconfig:"IRIS_NTFY_URL"`

	// LogEntries is how many log entries sync can replay.
	LogEntries Int `envconfig:"IRIS_LOG_ENTRIES" default:"2048"`

	// Retention is how long messages and media are kept; zero: for ever.
	Retention Duration `envconfig:"IRIS_RETENTION"`

	// RateLimits is On, or Off for tests.
	RateLimits string `envconfig:"IRIS_RATE_LIMITS" default:"on"`

	// MaxSockets is how many sockets this instance holds; above it answers 503.
	MaxSockets Int `envconfig:"IRIS_MAX_SOCKETS" default:"1000"`

	// Log is the form of the log on stderr: LogJSON or LogText.
	Log string `envconfig:"IRIS_LOG" default:"json"`

	// MetricsAddr is where GET /metrics answers, such as 127.0.0.1:9090; empty:
	// nowhere. It must not be reachable from outside.
	MetricsAddr string `envconfig:"IRIS_METRICS_ADDR"`

	// OTLPEndpoint is where traces and metrics are sent, as OTLP over HTTP, such
	// as http://127.0.0.1:4318; off when empty.
	OTLPEndpoint string `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT"`

	// OTLPProtocol is OTLPHTTP, which is all that works here. It is looked at so
	// that another one is not ignored.
	OTLPProtocol string `envconfig:"OTEL_EXPORTER_OTLP_PROTOCOL"`

	// Service is set by Cloud Run, whose last X-Forwarded-For hop can be
	// trusted. Empty elsewhere.
	Service string `envconfig:"K_SERVICE"`

	// Emulator is the Firestore emulator, which Google's client looks up itself.
	Emulator string `envconfig:"FIRESTORE_EMULATOR_HOST"`
}

// Values of the fields of [Config] that know only some.
const (
	StoreFirestore = "firestore"
	StoreMemory    = "memory"

	PushFCM = "fcm"

	On  = "on"
	Off = "off"

	LogJSON = "json"
	LogText = "text"

	OTLPHTTP = "http/protobuf"
)

// maxMedia is what 32 parts of 8 MiB can hold, which is how many can be composed.
const maxMedia = 256 << 20

// minAdminToken is how long an admin token must be: it opens everything.
const minAdminToken = 32

// Load reads the settings from the environment. Its error lists every fault,
// one a line, with variable and value; of secrets never the value.
func Load() (Config, error) {
	var cfg Config
	if err := envconfig.Process("", &cfg); err != nil {
		return Config{}, err
	}
	if cfg.Project == "" {
		cfg.Project = os.Getenv("GOOGLE_CLOUD_PROJECT")
	}
	return cfg, cfg.Validate()
}

// Validate checks every setting. Its error joins all faults.
func (c Config) Validate() error {
	var faults []error
	add := func(err error) { faults = append(faults, err) } // errors.Join leaves nil out

	add(c.Port.check("PORT", 0, 65535))
	add(c.LogEntries.check("IRIS_LOG_ENTRIES", 16, 1<<20))
	add(c.MaxSockets.check("IRIS_MAX_SOCKETS", 1, 1<<20))
	add(c.MediaMaxBytes.check("IRIS_MEDIA_MAX_BYTES", 0, maxMedia))
	add(c.MediaQuota.check("IRIS_MEDIA_QUOTA", 0, math.MaxInt))
	add(c.Retention.check("IRIS_RETENTION", time.Hour))
	add(oneOf("IRIS_STORE", c.Store, StoreFirestore, StoreMemory))
	add(oneOf("IRIS_PUSH", c.Push, PushFCM, Off))
	if c.PushPreview != "" {
		add(oneOf("IRIS_PUSH_PREVIEW", c.PushPreview, "true", "false"))
	}
	add(checkURL("IRIS_FCM_ENDPOINT", c.FCMEndpoint))
	add(checkURL("IRIS_NTFY_URL", c.NtfyURL))
	add(oneOf("IRIS_RATE_LIMITS", c.RateLimits, On, Off))
	add(oneOf("IRIS_LOG", c.Log, LogJSON, LogText))
	add(checkURL("IRIS_PUBLIC_URL", c.PublicURL))
	add(checkURL("OTEL_EXPORTER_OTLP_ENDPOINT", c.OTLPEndpoint))
	if c.OTLPEndpoint != "" && c.OTLPProtocol != "" {
		add(oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", c.OTLPProtocol, OTLPHTTP))
	}
	add(checkAdminToken(c.AdminToken))
	if c.Store == StoreFirestore && c.Emulator != "" && c.Project == "" {
		add(errors.New("IRIS_PROJECT: must be given with FIRESTORE_EMULATOR_HOST, for example demo-iris"))
	}
	if c.Store == StoreFirestore && c.Database == "" {
		add(errors.New(`IRIS_DATABASE="": leave it unset for "(default)"`))
	}
	return errors.Join(faults...)
}

func oneOf(name, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("%s=%q: must be %s", name, value, strings.Join(allowed, " or "))
}

func checkURL(name, value string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err == nil && u.User != nil {
		return errors.New(name + ": must not hold a user or password")
	}
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s=%q: must be like https://iris.example.org", name, value)
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
