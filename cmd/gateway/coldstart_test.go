package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/testenv"
)

// asBare makes this test binary an HTTP server that opens the same store and
// does nothing else: what a cold start costs at least.
const asBare = "IRIS_TEST_AS_BARE"

func bare(ctx context.Context) error {
	store, err := cloudstore.Open(ctx, cloudstore.Config{Project: os.Getenv("IRIS_PROJECT"), MaxSockets: 1000})
	if err != nil {
		return err
	}
	if err := store.Ready(ctx); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	line, err := json.Marshal(map[string]string{"message": "listening", "addr": ln.Addr().String()})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return http.Serve(ln, http.NotFoundHandler())
}

// BenchmarkColdStart measures from the start of a process to the line
// "listening", and to the first answer: hello.ack to a paired device.
func BenchmarkColdStart(b *testing.B) {
	emu := testenv.Firestore(b)
	p := launch(b, gateway(b, environment(emu)...))
	g, _ := p.create(b)
	token := p.pair(b, g)
	p.connect(b, token, "d1", "").CloseNow() // it is paired now
	p.Stop(patience)
	b.Run("bare", func(b *testing.B) {
		measure(b, append(environment(emu), asBare+"=1"), func(p *process) {
			res, err := http.Get("http://" + p.addr)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		})
	})
	b.Run("gateway", func(b *testing.B) {
		measure(b, environment(emu), func(p *process) { p.connect(b, token, "d1", "").CloseNow() })
	})
}

func measure(b *testing.B, env []string, first func(*process)) {
	var listening, answered time.Duration
	for range b.N {
		began := time.Now()
		p := launch(b, gateway(b, env...))
		first(p)
		answered += time.Since(began)
		listening += p.listening
		http.DefaultClient.CloseIdleConnections()
		p.Kill()
	}
	b.ReportMetric(float64(listening.Milliseconds())/float64(b.N), "ms/listening")
	b.ReportMetric(float64(answered.Milliseconds())/float64(b.N), "ms/answer")
}
