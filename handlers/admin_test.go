package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

// An operator sees of each gateway whether its host is there, and of each device where
// it is and how it is woken.
func TestListsTellHowItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	began := time.Now().Add(-time.Minute).UnixMilli()
	idle, _ := w.in.gateway()
	type host struct {
		Attached bool
		Version  string
		Seen     int64
	}
	gateways := func() map[string]host {
		var list struct {
			Gateways []struct {
				GatewayID string `json:"gateway_id"`
				Name      string
				Devices   int
				Host      host
				Deleting  bool
			}
		}
		w.in.admin("GET", "/admin/gateways", "", http.StatusOK, &list)
		found := map[string]host{}
		for _, g := range list.Gateways {
			if want := map[string]int{w.g: 3, idle: 0}[g.GatewayID]; g.Devices != want || g.Name != "home" || g.Deleting {
				t.Errorf("gateway %+v, want the name home and %d devices", g, want)
			}
			found[g.GatewayID] = g.Host
		}
		return found
	}
	is := gateways()
	if len(is) != 2 || is[idle] != (host{}) {
		t.Errorf("hosts %+v, want none that was seen of %s", is, idle)
	}
	if h := is[w.g]; !h.Attached || h.Version != "0.19.0" || h.Seen < began {
		t.Errorf("host %+v", h)
	}
	w.host.drop()
	waitFor(t, "the host is away", func() bool { return !gateways()[w.g].Attached })

	ask(w.other, "fcm.register", iris.Lane{}, `{"ntfy_topic":"n"}`)
	var list struct {
		Devices []struct {
			DeviceID              string `json:"device_id"`
			Name, Push            string
			Attached              bool
			Cursor, Seen, Created int64
		}
	}
	w.in.admin("GET", "/admin/gateways/"+w.g+"/devices", "", http.StatusOK, &list)
	if len(list.Devices) != 3 {
		t.Errorf("devices %+v", list.Devices)
	}
	for _, d := range list.Devices {
		push := map[string]string{"other": "ntfy"}[d.DeviceID]
		if push == "" {
			push = "none"
		}
		if d.Name != "Phone" || d.Attached != (d.DeviceID != "away") || d.Push != push || d.Cursor == 0 || d.Seen < began || d.Created < began {
			t.Errorf("device %+v", d)
		}
	}
}

// Names have up to 100 characters, of whatever kind, and none that steer a terminal; a
// device needs none.
func TestNamesOfGatewaysAndDevices(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	var made struct {
		GatewayID string `json:"gateway_id"`
		Name      string
	}
	longest := strings.Repeat("é", 100)
	in.admin("POST", "/admin/gateways", `{"name":" `+longest+`\u001b "}`, http.StatusCreated, &made)
	if made.Name != longest {
		t.Errorf("the gateway is called %q", made.Name)
	}
	in.admin("POST", "/admin/gateways", `{"name":"`+longest+`e"}`, http.StatusBadRequest, nil)
	in.admin("POST", "/admin/gateways", `{"name":"`+strings.Repeat(" ", 64<<10)+`x"}`, http.StatusBadRequest, nil)
	devices := "/admin/gateways/" + made.GatewayID + "/devices"
	in.admin("POST", devices, ``, http.StatusCreated, nil)
	in.admin("POST", devices, `{"name":"`+longest+`e"}`, http.StatusBadRequest, nil)
	in.admin("POST", devices, `{`, http.StatusBadRequest, nil)
}

// The QR code leads phones to where they reach the gateway: without a public URL as the
// operator did, with TLS where a proxy that can be trusted says so.
func TestPairingURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public  string
		trusted bool
		proto   string
		want    string // HOST is the address asked
	}{
		{"", false, "", "ws://HOST/ws"},
		{"", false, "https", "ws://HOST/ws"},
		{"", true, "https", "wss://HOST/ws"},
		{"", true, "http", "ws://HOST/ws"},
		{"https://iris.example.org/", true, "http", "wss://iris.example.org/ws"},
		{"http://127.0.0.1:9", false, "https", "ws://127.0.0.1:9/ws"},
	} {
		in := startWith(t, memstore.New(), func(cfg *handlers.Config) { cfg.PublicURL, cfg.TrustForwarded = c.public, c.trusted })
		g, _ := in.gateway()
		req, err := http.NewRequestWithContext(t.Context(), "POST", in.url+"/admin/gateways/"+g+"/devices", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		req.Header.Set("X-Forwarded-Proto", c.proto)
		var made struct {
			URL, Token string
			ExpiresAt  int64 `json:"expires_at"`
		}
		in.answer(req, http.StatusCreated, &made)
		u, err := url.Parse(made.URL)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(c.want, "HOST", strings.TrimPrefix(in.url, "http://"), 1)
		if u.Scheme != "iris" || u.Host != "pair" || u.Query().Get("url") != want || u.Query().Get("token") != made.Token {
			t.Errorf("%+v: %s, want %s", c, made.URL, want)
		}
		if left := time.Until(time.UnixMilli(made.ExpiresAt)); left > 10*time.Minute || left < 10*time.Minute-patience {
			t.Errorf("the pairing can be used for %v, want 10 minutes", left)
		}
	}
}
