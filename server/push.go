package server

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"iris-gateway/cloudstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/push"
)

// waking is how a gateway wakes devices.
type waking struct {
	pusher *push.Pusher // nil: not at all
	checks []handlers.Check
	close  func()
}

// openPush opens the services that wake devices.
func openPush(ctx context.Context, cfg Config, st push.Store, m *metrics, tracer trace.Tracer, log *slog.Logger) (waking, error) {
	pc := push.Config{Store: st, Preview: cfg.PushPreview != "false", Log: log, Tracer: tracer, Count: m.pushed}
	fcm, ntfy := handlers.Check{Name: "fcm"}, handlers.Check{Name: "ntfy", Off: "IRIS_NTFY_URL is not set"}
	closers := []func(){}
	switch testing := cfg.Store == StoreMemory || cfg.Emulator != ""; {
	case cfg.Push == Off:
		fcm.Off = "IRIS_PUSH is off"
	case testing && cfg.FCMEndpoint == "":
		fcm.Off = "the store is in memory or an emulator"
		log.Info("push by FCM is off: " + fcm.Off)
	default:
		service, err := openFCM(ctx, cfg)
		if err != nil {
			return waking{}, err
		}
		pc.FCM, fcm.Do = service, service.Check
		closers = append(closers, service.Close)
	}
	if cfg.NtfyURL != "" {
		service := push.NewNtfy(cfg.NtfyURL)
		pc.Ntfy, ntfy.Off, ntfy.Do = service, "", service.Check
		closers = append(closers, service.Close)
	}
	w := waking{checks: []handlers.Check{fcm, ntfy}, close: func() {
		for _, c := range closers {
			c()
		}
	}}
	if len(closers) > 0 {
		w.pusher = push.New(pc)
	}
	return w, nil
}

func openFCM(ctx context.Context, cfg Config) (*cloudstore.FCM, error) {
	// Detached: pushes still go out after ctx has ended.
	return cloudstore.OpenFCM(context.WithoutCancel(ctx), fcmConfig(cfg))
}

// fcmConfig is what FCM needs of the settings. With the memory store there is no
// project, and an endpoint of a test looks at none.
func fcmConfig(cfg Config) cloudstore.FCMConfig {
	project := cfg.Project
	if project == "" && cfg.FCMEndpoint != "" {
		project = "demo-iris"
	}
	return cloudstore.FCMConfig{Project: project, Endpoint: cfg.FCMEndpoint}
}
