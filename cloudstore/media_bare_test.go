package cloudstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/option"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

// envBare makes the test's binary a bare copy of the bucket that it names.
const envBare = "IRIS_TEST_BARE_COPY"

// bareCopy is a process that copies between WebSockets and objects, and does
// nothing else: as the gateway it shares nothing with who measures it.
type bareCopy struct{ url string }

func startBare(b *testing.B) *bareCopy {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envBare+"="+testenv.Bucket(b))
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	p, err := proc.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Stop(time.Second) })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return &bareCopy{"ws://" + strings.TrimSpace(addr)}
}

// upload writes an object: of parts if they are smaller than it, each in chunks
// that the client can repeat, or with chunk 0 without a pause.
func (c *bareCopy) upload(b *testing.B, name string, data []byte, part, chunk int) {
	ws := dialRaw(b, fmt.Sprintf("%s/up?name=%s&size=%d&part=%d&chunk=%d", c.url, name, len(data), part, chunk))
	sendFrames(b, ws, data)
	if _, _, err := ws.Read(b.Context()); err != nil {
		b.Error(err)
	}
	_ = ws.CloseNow()
}

func (c *bareCopy) pull(b *testing.B, name string, size int) {
	ws := dialRaw(b, c.url+"/down?name="+name)
	n := 0
	for {
		_, r, err := ws.Reader(context.Background())
		if err != nil {
			break
		}
		k, _ := io.Copy(io.Discard, r)
		n += int(k)
	}
	if n != size {
		b.Errorf("%d bytes came, want %d", n, size)
	}
	_ = ws.CloseNow()
}

// serveBare is the process. It is killed in the end.
func serveBare(bucket string) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client, err := storage.NewClient(context.Background(), storage.WithJSONReads(), option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		return err
	}
	bare := bareServer{client.Bucket(bucket)}
	mux := http.NewServeMux()
	mux.HandleFunc("/up", copying(bare.up))
	mux.HandleFunc("/down", copying(bare.down))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	return http.Serve(ln, mux)
}

// copying answers a WebSocket with copy. If that fails no close frame comes, and
// whoever measures sees that bytes or an answer are missing.
func copying(copy func(r *http.Request, ws *websocket.Conn) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		ws.SetReadLimit(1 << 20)
		if err := copy(r, ws); err != nil {
			fmt.Fprintln(os.Stderr, "bare copy:", err)
			_ = ws.CloseNow()
			return
		}
		_ = ws.Close(websocket.StatusNormalClosure, "")
	}
}

type bareServer struct{ bucket *storage.BucketHandle }

// up writes the bytes that come into an object and says when it is there: if a part
// has fewer bytes, parts are written, composed and removed.
func (s bareServer) up(r *http.Request, ws *websocket.Conn) error {
	var size, part, chunk int
	ctx, q := r.Context(), r.URL.Query()
	for name, value := range map[string]*int{"size": &size, "part": &part, "chunk": &chunk} {
		var err error
		if *value, err = strconv.Atoi(q.Get(name)); err != nil {
			return err
		}
	}
	whole := s.bucket.Object(q.Get("name"))
	if part >= size {
		if err := bareObject(ctx, ws, whole, size, chunk); err != nil {
			return err
		}
		return ws.Write(ctx, websocket.MessageText, nil)
	}
	var parts []*storage.ObjectHandle
	for at := 0; at < size; at += part {
		o := s.bucket.Object(fmt.Sprint(whole.ObjectName(), at))
		if err := bareObject(ctx, ws, o, min(part, size-at), chunk); err != nil {
			return err
		}
		parts = append(parts, o)
	}
	if _, err := whole.ComposerFrom(parts...).Run(ctx); err != nil {
		return err
	}
	var all errgroup.Group
	for _, o := range parts {
		all.Go(func() error { return o.Delete(ctx) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return ws.Write(ctx, websocket.MessageText, nil)
}

// bareObject writes frames into an object, up to its size.
func bareObject(ctx context.Context, ws *websocket.Conn, o *storage.ObjectHandle, size, chunk int) error {
	w := o.NewWriter(ctx)
	w.ChunkSize = chunk
	for n := int64(0); n < int64(size); {
		_, r, err := ws.Reader(ctx)
		if err != nil {
			return err
		}
		k, err := io.Copy(w, r)
		if n += k; err != nil {
			return err
		}
	}
	return w.Close()
}

func (s bareServer) down(r *http.Request, ws *websocket.Conn) error {
	object, err := s.bucket.Object(r.URL.Query().Get("name")).NewReader(r.Context())
	if err != nil {
		return err
	}
	defer object.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(object, buf)
		if n > 0 {
			if err := ws.Write(r.Context(), websocket.MessageBinary, buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
