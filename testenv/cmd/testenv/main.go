// Command testenv runs a command with the things tests need: it finds or starts a
// Firestore emulator and a Cloud Storage, with -hermes a Python with hermes-agent, with
// -checkers what checks Python, tells the command about them by FIRESTORE_EMULATOR_HOST,
// STORAGE_EMULATOR_HOST, IRIS_HERMES_PYTHON and IRIS_CHECKERS, passes its exit code on,
// and always ends what it started.
//
//	testenv [-race] [-hermes] [-checkers] [-firestore=false] -- go test -race ./...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"iris-gateway/testenv"
	"iris-gateway/testenv/fakegcs"
	"iris-gateway/testenv/proc"
)

func main() {
	// Each signal is passed on to the command; the second one of a hurried person too.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	code, err := run(signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
	}
	os.Exit(code)
}

func run(signals <-chan os.Signal) (int, error) {
	var need needs
	flag.BoolVar(&need.race, "race", false, "check that go test -race can work here")
	flag.BoolVar(&need.hermes, "hermes", false, "provide a Python with hermes-agent")
	flag.BoolVar(&need.checkers, "checkers", false, "provide ruff and mypy")
	flag.BoolVar(&need.firestore, "firestore", true, "provide a Firestore emulator and a Cloud Storage")
	flag.Parse()
	if flag.NArg() == 0 {
		return 2, errors.New("no command given: testenv [-race] [-hermes] -- COMMAND ARG…")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type ready struct {
		stop func()
		err  error
	}
	prepared := make(chan ready, 1)
	go func() {
		stop, err := prepare(ctx, need)
		prepared <- ready{stop, err}
	}()
	var r ready
	select {
	case r = <-prepared:
	case sig := <-signals:
		cancel()
		if r = <-prepared; r.stop != nil {
			r.stop()
		}
		return 1, fmt.Errorf("%s", sig)
	}
	if r.err != nil {
		return 1, r.err
	}
	defer r.stop()
	logs, err := os.MkdirTemp("", "iris-test-logs-")
	if err != nil {
		return 1, err
	}
	os.Setenv(testenv.EnvLogs, logs)
	code, err := command(flag.Args(), signals)
	if leak := scan(logs); leak != nil {
		return max(1, code), errors.Join(err, leak)
	}
	return code, err
}

// scan looks in what the run has logged for what tests have confided. The logs
// stay if there is something to see.
func scan(logs string) error {
	s, err := testenv.ScanLogs(logs)
	if err != nil {
		return err
	}
	if len(s.Leaks) > 0 {
		return fmt.Errorf("the logs in %s show what no log may:\n%s", logs, strings.Join(s.Leaks, "\n"))
	}
	if len(s.Logs) > 0 {
		fmt.Fprintf(os.Stderr, "testenv: looked through all logs: %v\n", s)
	}
	return os.RemoveAll(logs)
}

// needs are what the command asks for.
type needs struct{ race, hermes, checkers, firestore bool }

// prepare provides what was asked for and puts it into the environment.
func prepare(ctx context.Context, need needs) (func(), error) {
	if need.race {
		if err := testenv.CheckRace(); err != nil {
			return nil, err
		}
	}
	if need.hermes {
		python, err := testenv.FindHermes(ctx)
		if err != nil {
			return nil, err
		}
		os.Setenv(testenv.EnvHermes, python)
	}
	if need.checkers {
		bin, err := testenv.FindCheckers(ctx)
		if err != nil {
			return nil, err
		}
		os.Setenv(testenv.EnvCheckers, bin)
	}
	if !need.firestore {
		return func() {}, nil
	}
	host, stop, err := testenv.StartFirestore(ctx)
	if err != nil {
		return nil, err
	}
	os.Setenv(testenv.EnvFirestore, host)
	stopStorage, err := startStorage()
	if err != nil {
		stop()
		return nil, err
	}
	return func() { stop(); stopStorage() }, nil
}

// startStorage provides a Cloud Storage, unless there is one.
func startStorage() (stop func(), err error) {
	if os.Getenv(testenv.EnvStorage) != "" {
		return func() {}, nil
	}
	host, stop, err := fakegcs.Start()
	if err != nil {
		return nil, err
	}
	os.Setenv(testenv.EnvStorage, host)
	return stop, nil
}

// command runs the command in its own process group, so that a signal to testenv
// reaches all of it (the go command does not pass SIGTERM on to the tests it runs).
func command(args []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	p, err := proc.Start(cmd)
	if err != nil {
		return 127, err
	}
	for {
		select {
		case <-p.Done():
			p.SignalGroup(syscall.SIGKILL) // whatever it left behind
			if code := p.ExitCode(); code >= 0 {
				return code, nil
			}
			return 1, p.Err()
		case sig := <-signals:
			p.SignalGroup(sig.(syscall.Signal))
			if !p.Wait(10 * time.Second) {
				p.Kill()
			}
		}
	}
}
