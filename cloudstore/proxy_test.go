package cloudstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that counted replaces
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"iris-gateway/testenv"
)

const service = "/google.firestore.v1.Firestore/"

// operations are what Firestore bills.
type operations struct {
	reads, writes, deletes int
	listened               int // reads by a listener
}

// proxy stands in front of the emulator. It has a limit of streams for each
// connection, as Firestore has and the emulator has not, and it counts.
type proxy struct {
	upstream *grpc.ClientConn
	senders  sync.WaitGroup
	mu       sync.Mutex
	ops      operations
	open     map[string]int  // calls that run, by method
	heard    map[string]bool // documents and versions that a listener was sent
}

// raw hands messages through as they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = raw{}

// startProxy makes FIRESTORE_EMULATOR_HOST name a proxy for this test.
func startProxy(t *testing.T, maxStreams uint32) *proxy {
	t.Helper()
	emu := testenv.Firestore(t)
	upstream, err := grpc.NewClient(emu.Host, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{upstream: upstream, open: map[string]int{}, heard: map[string]bool{}}
	srv := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(p.handle),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxRecvMsgSize(64<<20))
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(ln)
	}()
	t.Cleanup(func() {
		srv.Stop()
		<-served
		p.senders.Wait()
		upstream.Close()
	})
	t.Setenv(testenv.EnvFirestore, ln.Addr().String())
	return p
}

// handle passes one call on, both ways.
func (p *proxy) handle(_ any, down grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(down.Context())
	defer cancel()
	method, _ := grpc.MethodFromServerStream(down)
	p.running(method, 1)
	defer p.running(method, -1)
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	up, err := p.upstream.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	// It ends when the call has: waiting for that in here would be for ever.
	p.senders.Go(func() {
		for {
			var msg []byte
			if down.RecvMsg(&msg) != nil {
				up.CloseSend()
				return
			}
			p.count(method, msg, true)
			if up.SendMsg(&msg) != nil {
				return
			}
		}
	})
	for {
		var msg []byte
		switch err := up.RecvMsg(&msg); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		p.count(method, msg, false)
		if err := down.SendMsg(&msg); err != nil {
			return err
		}
	}
}

// running adds to the calls of a method that run and returns their number.
func (p *proxy) running(method string, add int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[method] += add
	return p.open[method]
}

// count adds what a message costs.
func (p *proxy) count(method string, msg []byte, request bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == service+"Commit" && request:
		var m pb.CommitRequest
		must(proto.Unmarshal(msg, &m))
		for _, w := range m.Writes {
			if w.GetDelete() != "" {
				p.ops.deletes++
			} else {
				p.ops.writes++
			}
		}
	case method == service+"BatchGetDocuments" && !request:
		var m pb.BatchGetDocumentsResponse
		must(proto.Unmarshal(msg, &m))
		if m.GetFound() != nil || m.GetMissing() != "" {
			p.ops.reads++
		}
	case method == service+"RunQuery" && !request:
		var m pb.RunQueryResponse
		must(proto.Unmarshal(msg, &m))
		if m.Document != nil {
			p.ops.reads++
		}
	case method == service+"RunAggregationQuery" && !request:
		p.ops.reads++ // for up to a thousand rows that are counted
	case method == service+"Listen" && !request:
		var m pb.ListenResponse
		must(proto.Unmarshal(msg, &m))
		// Firestore sends what has changed. The emulator sends the whole
		// result again at each change: that is not counted.
		if doc := m.GetDocumentChange().GetDocument(); doc != nil {
			if version := doc.Name + doc.UpdateTime.String(); !p.heard[version] {
				p.heard[version] = true
				p.ops.listened++
			}
		}
	}
}

// spent returns the operations since the last call.
func (p *proxy) spent() operations {
	p.mu.Lock()
	defer p.mu.Unlock()
	ops := p.ops
	p.ops = operations{}
	return ops
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
