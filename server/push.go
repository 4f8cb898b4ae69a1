package server

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"iris-gateway/cloudstore"
	"iris-gateway/handlers/push"
)

// openPush opens the services that wake devices, nil when there are none.
func openPush(ctx context.Context, cfg Config, st push.Store, m *metrics, tracer trace.Tracer, log *slog.Logger) (*push.Pusher, func(), error) {
	pc := push.Config{Store: st, Preview: cfg.PushPreview != "false", Log: log, Tracer: tracer, Count: m.pushed}
	closers := []func(){}
	switch testing := cfg.Store == StoreMemory || cfg.Emulator != ""; {
	case cfg.Push == Off:
	case testing && cfg.FCMEndpoint == "":
		log.Info("push by FCM is off: there is no real store, and no IRIS_FCM_ENDPOINT")
	default:
		project := cfg.Project
		if project == "" && cfg.FCMEndpoint != "" {
			project = "demo-iris" // with the memory store there is none
		}
		// Detached: pushes still go out after ctx has ended.
		fcm, err := cloudstore.OpenFCM(context.WithoutCancel(ctx), cloudstore.FCMConfig{Project: project, Endpoint: cfg.FCMEndpoint})
		if err != nil {
			return nil, nil, err
		}
		pc.FCM = fcm
		closers = append(closers, fcm.Close)
	}
	if cfg.NtfyURL != "" {
		ntfy := push.NewNtfy(cfg.NtfyURL)
		pc.Ntfy = ntfy
		closers = append(closers, ntfy.Close)
	}
	if len(closers) == 0 {
		return nil, func() {}, nil
	}
	return push.New(pc), func() {
		for _, c := range closers {
			c()
		}
	}, nil
}
