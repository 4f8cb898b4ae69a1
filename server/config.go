package server

import (
	"os"

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

	// OTLPHeaders are sent to OTLPEndpoint, such as api-key=…; OpenTelemetry's SDK
	// reads them itself, and would log what is malformed.
	OTLPHeaders Secret `envconfig:"OTEL_EXPORTER_OTLP_HEADERS"`

	// Service is set by Cloud Run, whose last X-Forwarded-For hop can be
	// trusted. Empty elsewhere.
	Service string `envconfig:"K_SERVICE"`

	// Emulator is the Firestore emulator, which Google's client looks up itself;
	// that of Cloud Storage is STORAGE_EMULATOR_HOST.
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
