package doctor_test

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/cmd/iris/internal/agent"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/doctor"
	"iris-gateway/server"
	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

func TestMain(m *testing.M) {
	// Google's packages start this one when they are imported.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const adminToken = "an-admin-token-that-is-long-enough-for-tests"

// deployment is a gateway behind something that speaks TLS, as on Cloud Run.
type deployment struct {
	*testing.T
	direct *url.URL // without TLS
	fcm    *fakefcm.Server
	admin  *admin.Client
	made   admin.NewGateway
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	testenv.Confide(adminToken)
	log := testenv.Logger(t, testenv.CommandLine)
	listening, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		ended <- server.Run(ctx, server.Config{
			Addr: "127.0.0.1", Store: server.StoreMemory, AdminToken: adminToken, Push: server.PushFCM, FCMEndpoint: fcm.URL,
			LogEntries: server.Number(64), RateLimits: server.Off, MaxSockets: server.Number(10), Log: server.LogText,
		}, server.Options{Log: log, Listening: func(addr string) { listening <- addr }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("gateway: %v", err)
		}
	})
	d := &deployment{T: t, fcm: fcm}
	select {
	case addr := <-listening:
		d.direct = &url.URL{Scheme: "http", Host: addr}
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	var err error
	if d.admin, err = admin.New(d.direct.String(), adminToken); err != nil {
		t.Fatal(err)
	}
	if d.made, err = d.admin.CreateGateway(t.Context(), "home"); err != nil {
		t.Fatal(err)
	}
	testenv.Confide(d.made.HostToken)
	fcm.Answer("iris-doctor", "400")
	return d
}

// attach attaches a host, and waits until an operator sees it.
func (d *deployment) attach() {
	d.Helper()
	a := agent.New(agent.Config{URL: "ws://" + d.direct.Host + "/host", Token: d.made.HostToken, Log: testenv.Logger(d, testenv.CommandLine)})
	d.during(func(ctx context.Context) { _ = a.Run(ctx) })
	for !d.attached() {
		time.Sleep(5 * time.Millisecond)
	}
}

func (d *deployment) attached() bool {
	d.Helper()
	list, err := d.admin.Gateways(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	return list[0].Host.Attached
}

// during runs f until the test ends.
func (d *deployment) during(f func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(d.Context()))
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	d.Cleanup(func() { stop(); <-done })
}

// pair pairs a terminal.
func (d *deployment) pair() *device.Config {
	d.Helper()
	p, err := d.admin.Pair(d.Context(), d.made.GatewayID, "terminal")
	if err != nil {
		d.Fatal(err)
	}
	testenv.Confide(p.Token)
	return &device.Config{URL: "ws://" + d.direct.Host + "/ws", Token: p.Token, DeviceID: "d1", DeviceName: "terminal"}
}

// front is a reverse proxy with TLS that changes requests and answers.
func (d *deployment) front(request func(http.ResponseWriter, *http.Request) (done bool), answer func(*http.Response)) *httptest.Server {
	proxy := httputil.NewSingleHostReverseProxy(d.direct)
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	proxy.ModifyResponse = func(res *http.Response) error {
		if answer != nil {
			answer(res)
		}
		return nil
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request == nil || !request(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	web.StartTLS()
	d.Cleanup(web.Close)
	return web
}

// trusting is a pool of the certificate of a server.
func trusting(web *httptest.Server) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(web.Certificate())
	return pool
}

// findings runs the doctor and returns what it found.
func findings(t *testing.T, address string, cfg doctor.Config) (well bool, all map[string]doctor.Finding) {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]doctor.Finding{}
	cfg.Report = func(f doctor.Finding) { all[f.Check] = f }
	well = doctor.Run(t.Context(), base, cfg)
	for _, f := range all {
		if (f.State == doctor.Failed || f.State == doctor.Warning) && f.Todo == "" {
			t.Errorf("%s: %s, and not what to do", f.Check, f.Text)
		}
		for _, secret := range []string{adminToken, cfg.HostToken} {
			if secret != "" && strings.Contains(f.Text+f.Todo, secret) {
				t.Errorf("%s shows a token: %s", f.Check, f.Text)
			}
		}
	}
	return well, all
}

// A gateway where all is well: everything is looked at, nobody is disturbed.
func TestWell(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.attach()
	web := d.front(nil, nil)
	well, all := findings(t, web.URL, doctor.Config{
		AdminToken: adminToken, HostToken: d.made.HostToken, Device: d.pair(), Gateway: "home", Roots: trusting(web),
	})
	if !well {
		t.Error("something has failed")
	}
	for _, check := range []string{"address", "tls", "clock", "ready", "websocket", "admin token", "version", "public url",
		"store", "fcm", "host", "host token", "device token"} {
		if f := all[check]; f.State != doctor.OK {
			t.Errorf("%s: %s %q", check, f.State, f.Text)
		}
	}
	if !d.attached() {
		t.Error("the host was pushed away")
	}
	if well, all = findings(t, web.URL, doctor.Config{Roots: trusting(web)}); !well || all["admin token"].State != doctor.Skipped {
		t.Errorf("without tokens: %v, %+v", well, all)
	}
}

// What can be wrong at the address, and what the doctor calls it.
func TestAddress(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	status := func(code int, header ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			if len(header) > 0 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	for name, tt := range map[string]struct {
		request     func(http.ResponseWriter, *http.Request) bool
		answer      func(*http.Response)
		check, text string
		state       doctor.State
	}{
		"closed": {request: status(403), check: "address", state: doctor.Failed, text: "is closed: 403"},
		"moved":  {request: status(302, "Location", "https://x.example"), check: "address", state: doctor.Failed, text: "https://x.example"},
		"other":  {request: status(200), check: "address", state: doctor.Failed, text: "not like a gateway"},
		"broken": {request: status(502), check: "address", state: doctor.Failed, text: "502"},
		"late": {answer: func(r *http.Response) {
			r.Header.Set("Date", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		}, check: "clock", state: doctor.Warning, text: "behind"},
		"no upgrades": {request: func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Upgrade"); return false }, check: "websocket", state: doctor.Failed, text: "not opened"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := d.front(tt.request, tt.answer)
			well, all := findings(t, web.URL, doctor.Config{Roots: trusting(web)})
			if f := all[tt.check]; f.State != tt.state || !strings.Contains(f.Text, tt.text) || well == (tt.state == doctor.Failed) {
				t.Errorf("well = %v, %+v", well, all)
			}
		})
	}
	web := d.front(nil, nil)
	for address, text := range map[string]string{
		web.URL:                       "of nobody that this machine trusts",
		"https://" + d.direct.Host:    "does not speak TLS",
		"http://127.0.0.1:1":          "refused",
		"http://no-such-name.invalid": "is not known",
	} {
		if well, all := findings(t, address, doctor.Config{}); well || !strings.Contains(all["address"].Text, text) || len(all) != 1 {
			t.Errorf("%s: %v, %+v", address, well, all)
		}
	}
}

// What can be wrong behind it.
func TestInside(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	wrong := d.pair()
	wrong.Token = "wrong"
	for name, tt := range map[string]struct {
		cfg         doctor.Config
		fcm         string
		check, text string
	}{
		"admin token":  {doctor.Config{AdminToken: "wrong"}, "400", "admin token", "another one"},
		"host token":   {doctor.Config{HostToken: "wrong"}, "400", "host token", "token"},
		"device token": {doctor.Config{Device: wrong}, "400", "device token", "token"},
		"gateway":      {doctor.Config{AdminToken: adminToken, Gateway: "x"}, "400", "host", `no gateway "x"`},
		"host":         {doctor.Config{AdminToken: adminToken}, "400", "host", "never attached"},
		"push":         {doctor.Config{AdminToken: adminToken}, "401", "fcm", "401 UNAUTHENTICATED"},
	} {
		t.Run(name, func(t *testing.T) {
			d.fcm.Answer("iris-doctor", tt.fcm)
			well, all := findings(t, d.direct.String(), tt.cfg)
			if f := all[tt.check]; well || f.State != doctor.Failed || !strings.Contains(f.Text, tt.text) {
				t.Errorf("well = %v, %+v", well, all)
			}
		})
	}
}
