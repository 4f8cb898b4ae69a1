// Command terraformtest checks a terraform module as far as this machine can:
//
//	terraformtest DIR
//
// It says in one line what it did, or what it skipped and why.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"iris-gateway/testenv"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: terraformtest DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := testenv.CheckTerraform(ctx, os.Args[1], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
