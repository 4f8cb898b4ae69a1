package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"iris-gateway/testenv/proc"
)

// errDied is the end of an emulator before it was ready, most likely because
// somebody else took its port in between.
var errDied = errors.New("the Firestore emulator ended while starting")

// StartFirestore returns the address of a Firestore emulator and a function that
// ends it. One that runs already (FIRESTORE_EMULATOR_HOST) is used as it is, and
// left alone by stop.
func StartFirestore(ctx context.Context) (host string, stop func(), err error) {
	if host := os.Getenv(EnvFirestore); host != "" {
		if err := awaitOK(ctx, host, 5*time.Second, nil); err != nil {
			return "", nil, fmt.Errorf("%s=%s does not answer: %w", EnvFirestore, host, err)
		}
		return host, func() {}, nil
	}
	java, err := findJava(ctx)
	if err != nil {
		return "", nil, err
	}
	jar, err := findJar(ctx)
	if err != nil {
		return "", nil, err
	}
	args, err := emulatorArgs(jar)
	if err != nil {
		return "", nil, err
	}
	for range 3 {
		host, stop, err = launch(ctx, java, args)
		if !errors.Is(err, errDied) {
			break
		}
	}
	return host, stop, err
}

// launch starts java itself, not the wrapper script (which leaves its java behind).
func launch(ctx context.Context, java string, args []string) (string, func(), error) {
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	host := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	log, err := os.CreateTemp("", "firestore-emulator-*.log")
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	args = append([]string{"-Duser.language=en"}, args...) // it knows only English error texts
	cmd := exec.Command(java, append(args, "--host=127.0.0.1", "--port="+strconv.Itoa(port))...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := proc.Start(cmd)
	if err != nil {
		os.Remove(log.Name())
		return "", nil, fmt.Errorf("%s: %w", java, err)
	}
	stop := func() {
		p.Stop(5 * time.Second)
		os.Remove(log.Name())
	}
	if err := awaitOK(ctx, host, 90*time.Second, p.Done()); err != nil {
		p.Kill()
		return "", nil, fmt.Errorf("%w (its log: %s)", err, log.Name())
	}
	return host, stop, nil
}

// awaitOK waits until the emulator answers a plain GET, which it does with "Ok".
// Neither its output nor anything else says when it is ready, hence the asking.
func awaitOK(ctx context.Context, host string, limit time.Duration, died <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx, "http://"+host+"/")
		if err == nil {
			return nil
		}
		select {
		case <-died:
			return errDied
		case <-ctx.Done():
			return fmt.Errorf("no answer from http://%s/ within %s: %w", host, limit, err)
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// freePort asks the system for a port. Another process may take it before the
// emulator does; launch is repeated then.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// findJava wants a java that runs: on macOS a stub without a Java behind it is
// on every PATH.
func findJava(ctx context.Context) (string, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	if err := exec.CommandContext(ctx, java, "-version").Run(); err != nil {
		return "", fmt.Errorf("no Java for the Firestore emulator: install Java 11 or later (Debian: `apt-get install default-jre-headless`), or set FIRESTORE_EMULATOR_HOST to a running emulator (%s: %w)", java, err)
	}
	return java, nil
}
