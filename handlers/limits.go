package handlers

import (
	"container/list"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Limits of what a device or address may do, counted on this instance
// (protocol: Close codes, Rules).
const (
	framesPerSecond      = 20
	framesBurst          = 100
	messagesPerMinute    = 30
	connectionsPerMinute = 20
	failuresPerMinute    = 10
)

// maxCounted bounds the devices and addresses that are remembered; beyond it
// those that were idle longest are forgotten, and begin anew.
const maxCounted = 4096

// limits counts what devices and addresses do. Its zero value limits nothing.
type limits struct {
	devices   *counted[deviceLimits]
	addresses *counted[rate.Limiter]
}

func newLimits(on bool) *limits {
	if !on {
		return &limits{}
	}
	return &limits{
		devices: newCounted(func() *deviceLimits {
			return &deviceLimits{
				connections: perMinute(connectionsPerMinute),
				messages:    perMinute(messagesPerMinute),
				frames:      rate.NewLimiter(framesPerSecond, framesBurst),
			}
		}),
		addresses: newCounted(func() *rate.Limiter { return perMinute(failuresPerMinute) }),
	}
}

func perMinute(n int) *rate.Limiter {
	return rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), n)
}

// deviceLimits are the limits of one device, over all of its connections.
type deviceLimits struct{ connections, messages, frames *rate.Limiter }

// device returns the limits of a device; nil when nothing is limited.
func (l *limits) device(gateway, device string) *deviceLimits {
	if l.devices == nil {
		return nil
	}
	return l.devices.get(gateway + "\x00" + device)
}

// connection counts a connection. More than are allowed end with 4429.
func (l *deviceLimits) connection() error {
	if l == nil {
		return nil
	}
	return take(l.connections, "more than %d connections a minute of this device", connectionsPerMinute)
}

// message counts a message.
func (l *deviceLimits) message() error {
	if l == nil {
		return nil
	}
	return take(l.messages, "more than %d messages a minute", messagesPerMinute)
}

// frame counts a JSON frame.
func (l *deviceLimits) frame() error {
	if l == nil {
		return nil
	}
	return take(l.frames, "more than %d frames a second", framesPerSecond)
}

// take counts one, or says when to come again.
func take(l *rate.Limiter, format string, n int) error {
	now := time.Now()
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	r.CancelAt(now)
	err := iris.Errorf(iris.CodeRateLimited, format, n)
	err.RetryAfter = wait.Truncate(time.Millisecond) + time.Millisecond
	return err
}

// failed counts a hello that was refused with err. An address that fails too
// often is told so; others behind the same address are let in as ever, because
// only failures come here.
func (l *limits) failed(address string, err error) error {
	var e *iris.Error
	if l.addresses == nil || !errors.As(err, &e) || e.Code != iris.CodeAuth && e.Code != iris.CodeUnsupported {
		return err
	}
	if limited := take(l.addresses.get(address), "more than %d failed hellos a minute from this address", failuresPerMinute); limited != nil {
		return &wire.CloseError{Code: wire.CloseRateLimited, Err: public(limited)}
	}
	return err
}

// address is where a request comes from: for IPv6 the network, since one machine
// has more addresses than can be counted. Behind a proxy that can be trusted it
// is the last hop that the proxy saw.
func (s *Server) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if hops := r.Header.Values("X-Forwarded-For"); s.cfg.TrustForwarded && len(hops) > 0 {
		last := hops[len(hops)-1]
		host = strings.TrimSpace(last[strings.LastIndex(last, ",")+1:])
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return shorten(host, wire.MaxID)
	}
	if addr = addr.Unmap().WithZone(""); addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.String()
		}
	}
	return addr.String()
}

// counted is a bounded set of counters by key.
type counted[T any] struct {
	make func() *T

	mu    sync.Mutex
	byKey map[string]*list.Element // of *counter[T]
	order *list.List               // the one used last is in front
}

type counter[T any] struct {
	key   string
	value *T
}

func newCounted[T any](make func() *T) *counted[T] {
	return &counted[T]{make: make, byKey: map[string]*list.Element{}, order: list.New()}
}

func (c *counted[T]) get(key string) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*counter[T]).value
	}
	if c.order.Len() >= maxCounted {
		oldest := c.order.Back()
		delete(c.byKey, oldest.Value.(*counter[T]).key)
		c.order.Remove(oldest)
	}
	made := &counter[T]{key: key, value: c.make()}
	c.byKey[key] = c.order.PushFront(made)
	return made.value
}
