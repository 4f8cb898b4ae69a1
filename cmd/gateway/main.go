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
	err := run(ctx, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

// run is the gateway. Why it failed is told on stderr: on Cloud Run as one line
// of the log, however many lines it has, elsewhere as people read it.
func run(ctx context.Context, stdout, stderr io.Writer) error {
	cfg, err := server.Load()
	if err != nil {
		err = fmt.Errorf("settings:\n%w", err)
	}
	log := server.NewLogger(stderr, cfg, slog.LevelInfo)
	for _, name := range server.Unknown(os.Environ()) {
		log.Warn("no setting has this name: it is ignored", "name", name)
	}
	if err == nil {
		err = server.Run(ctx, cfg, server.Options{Stdout: stdout, Log: log})
	}
	switch {
	case err != nil && cfg.Service != "":
		log.Error("gateway: " + err.Error())
	case err != nil:
		fmt.Fprintf(stderr, "gateway: %v\n", err)
	}
	return err
}
