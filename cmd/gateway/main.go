// Command gateway is the container: a gateway whose settings come from the
// environment. It ends, within 8 s, on SIGTERM and SIGINT.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"iris-gateway/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, stdout, stderr io.Writer) error {
	cfg, err := server.Load()
	if err != nil {
		return fmt.Errorf("settings:\n%w", err)
	}
	log := server.NewLogger(stderr, cfg.Log, slog.LevelInfo)
	return server.Run(ctx, cfg, server.Options{Stdout: stdout, Log: log})
}
