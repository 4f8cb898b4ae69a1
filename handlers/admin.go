package handlers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Limits of the admin calls.
const (
	maxAdminBody = 64 << 10
	maxName      = 100 // characters of a gateway's or device's name
	pairingTime  = 10 * time.Minute
)

// handleCreateGateway makes a gateway with its default channel and host token.
func (s *Server) handleCreateGateway(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(w, r)
	if err != nil {
		return err
	}
	if name == "" {
		return iris.Errorf(iris.CodeUnsupported, "name is missing: send {\"name\": \"…\"}")
	}
	token, now := iris.NewToken(), time.Now()
	gw := iris.Gateway{
		ID: iris.NewID("g_"), Name: name, DefaultChat: iris.DefaultChat, HostToken: iris.HashToken(token), Created: now,
	}
	host := iris.Token{Hash: gw.HostToken, Kind: iris.TokenHost, Gateway: gw.ID, Created: now}
	if err := s.cfg.Store.CreateGateway(r.Context(), gw, host); err != nil {
		return err
	}
	s.logOf(r.Context()).Info("gateway created", "gateway", gw.ID)
	reply(w, http.StatusCreated, map[string]string{"gateway_id": gw.ID, "name": gw.Name, "host_token": token})
	return nil
}

type gatewayInfo struct {
	GatewayID string   `json:"gateway_id"`
	Name      string   `json:"name"`
	Host      hostInfo `json:"host"`
	Devices   int      `json:"devices"`
	Deleting  bool     `json:"deleting,omitempty"` // nothing else can be done with it but to delete it to the end
}

type hostInfo struct {
	Attached bool   `json:"attached"`
	Version  string `json:"version"`
	Seen     int64  `json:"seen"` // ms since 1970, 0 = never
}

// handleListGateways lists all gateways.
func (s *Server) handleListGateways(w http.ResponseWriter, r *http.Request) error {
	gateways, err := s.cfg.Store.Gateways(r.Context())
	if err != nil {
		return err
	}
	list := make([]gatewayInfo, 0, len(gateways))
	for _, gw := range gateways {
		devices, err := s.cfg.Store.Devices(r.Context(), gw.ID)
		if err != nil {
			return err
		}
		list = append(list, gatewayInfo{
			GatewayID: gw.ID, Name: gw.Name, Devices: len(devices),
			Host: hostInfo{Attached: gw.Host.Link.Alive(time.Now()), Version: gw.Host.Version, Seen: millis(gw.Host.Seen)},
		})
	}
	removals, err := s.cfg.Store.Removals(r.Context())
	if err != nil {
		return err
	}
	for _, r := range removals {
		list = append(list, gatewayInfo{GatewayID: r.Gateway, Name: r.Name, Deleting: true})
	}
	hosts, err := s.removedHosts(r.Context())
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, map[string]any{"gateways": list, "removed_hosts": hosts})
	return nil
}

// handlePairDevice makes a token for a device that is to be paired.
func (s *Server) handlePairDevice(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(w, r)
	if err != nil {
		return err
	}
	gw, err := s.cfg.Store.Gateway(r.Context(), r.PathValue("gateway"))
	if err != nil {
		return err
	}
	token, now := iris.NewToken(), time.Now()
	t := iris.Token{
		Hash: iris.HashToken(token), Kind: iris.TokenDevice, Gateway: gw.ID, Name: name,
		Expires: now.Add(pairingTime), Created: now,
	}
	if err := s.cfg.Store.CreateToken(r.Context(), t); err != nil {
		return err
	}
	s.logOf(r.Context()).Info("pairing made", "gateway", gw.ID)
	reply(w, http.StatusCreated, map[string]any{
		"token": token, "url": pairURL(s.socketURL(r), token), "expires_at": millis(t.Expires),
	})
	return nil
}

// pairURL is what the QR code holds.
func pairURL(socket, token string) string {
	return "iris://pair?url=" + url.QueryEscape(socket) + "&token=" + token
}

// socketURL is the address of the device socket as phones reach it.
func (s *Server) socketURL(r *http.Request) string {
	if base := strings.TrimSuffix(s.cfg.PublicURL, "/"); base != "" {
		return strings.Replace(base, "http", "ws", 1) + "/ws"
	}
	if r.TLS != nil || s.cfg.TrustForwarded && r.Header.Get("X-Forwarded-Proto") == "https" {
		return "wss://" + r.Host + "/ws"
	}
	return "ws://" + r.Host + "/ws"
}

type deviceInfo struct {
	DeviceID         string `json:"device_id"`
	Name             string `json:"name"`
	Attached         bool   `json:"attached"`
	Cursor           int64  `json:"cursor"`
	LastPushedCursor int64  `json:"last_pushed_cursor"`
	Push             string `json:"push"`
	PushOutcome      string `json:"push_outcome"` // of the last push, "" for none
	PushAt           int64  `json:"push_at"`      // when that was, ms since 1970
	Seen             int64  `json:"seen"`         // ms since 1970
	Created          int64  `json:"created"`
}

// handleListDevices lists the devices of a gateway.
func (s *Server) handleListDevices(w http.ResponseWriter, r *http.Request) error {
	gw, err := s.cfg.Store.Gateway(r.Context(), r.PathValue("gateway"))
	if err != nil {
		return err
	}
	devices, err := s.cfg.Store.Devices(r.Context(), gw.ID)
	if err != nil {
		return err
	}
	list := make([]deviceInfo, 0, len(devices))
	for _, d := range devices {
		list = append(list, deviceInfo{
			DeviceID: d.ID, Name: d.Name, Attached: d.Link.Alive(time.Now()), Cursor: d.Cursor,
			LastPushedCursor: d.LastPushed, Push: pushKind(d), PushOutcome: pushOutcome(d.Push),
			PushAt: millis(d.Push.At), Seen: millis(d.Seen), Created: millis(d.Created),
		})
	}
	reply(w, http.StatusOK, map[string]any{"devices": list})
	return nil
}

// readName reads the body {"name"}, which may be absent.
func readName(w http.ResponseWriter, r *http.Request) (string, error) {
	var body struct {
		Name string `json:"name"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAdminBody)).Decode(&body)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", iris.Errorf(iris.CodeUnsupported, "body is not JSON of the form {\"name\": \"…\"}")
	}
	name := strings.TrimSpace(wire.CleanName(body.Name))
	if n := len([]rune(name)); n > maxName {
		return "", iris.Errorf(iris.CodeUnsupported, "name has %d characters, at most %d are allowed", n, maxName)
	}
	return name, nil
}

// millis returns a time as devices and operators get it; 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
