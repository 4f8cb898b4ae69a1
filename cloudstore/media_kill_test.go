package cloudstore_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"iris-gateway/testenv"
)

// The real gateway is killed at random moments of an upload and of a download:
// both go on with the next process, what arrives is what was sent, and nothing is
// left but the one object, and what the lifecycle rule takes.
func TestMediaGatewayKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: builds and kills gateways")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 30<<20+dice.IntN(8<<20))
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	hash := hashOf(data)
	gate := startGateway(t)
	token := gate.pair(t)
	revive := func() {
		gate.p.Kill()
		gate.start(t)
	}
	for kills := 0; ; kills++ {
		phone := gate.connect(t, token, "phone")
		phone.say(t, `{"type":"media.upload.start","id":1,"payload":{"media_ref":"ref","size":%d,"resume":true}}`, len(data))
		var ready struct{ Payload struct{ Offset int } }
		answer, _ := phone.until(t, "media.upload.ready")
		if err := json.Unmarshal(answer, &ready); err != nil {
			t.Fatal(err)
		}
		if kills > 0 && ready.Payload.Offset == 0 {
			t.Error("what the bucket has is sent again")
		}
		rest := data[ready.Payload.Offset:]
		t.Logf("goes on at %d", ready.Payload.Offset)
		if kills == 5 {
			sendFrames(t, phone.ws, rest)
			phone.say(t, `{"type":"media.upload.end","id":2,"payload":{"media_ref":"ref","sha256":%q}}`, hash)
			phone.until(t, "media.upload.ack")
			break
		}
		if kills == 0 {
			sendPart(t, gate, phone, rest)
		} else {
			sendFrames(t, phone.ws, rest[:dice.IntN(len(rest))])
		}
		revive()
	}
	id := gate.connect(t, token, "phone").sendMedia(t, "ref")

	var got bytes.Buffer
	for kills := 0; got.Len() < len(data); kills++ {
		phone := gate.connect(t, token, "phone")
		phone.say(t, `{"type":"media.pull","id":1,"payload":{"media_id":%q,"offset":%d}}`, id, got.Len())
		phone.until(t, "media.pull")
		frames := 1 + dice.IntN(120)
		if kills == 5 {
			frames = len(data)
		}
		for ; frames > 0 && got.Len() < len(data); frames-- {
			_, frame, err := phone.ws.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got.Write(frame)
		}
		if got.Len() < len(data) {
			revive()
		}
	}
	if !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes came, want %d", got.Len(), len(data))
	}
	if left := testenv.Lasting(t, gate.bucket); len(left) != 1 {
		t.Errorf("objects %v, want one", left)
	}
}

// sendPart sends more than a part, and goes on byte by byte until the bucket has one.
func sendPart(t *testing.T, gate *gatewayProcess, phone *rawPhone, b []byte) {
	t.Helper()
	const fast = 9 << 20
	sendFrames(t, phone.ws, b[:fast])
	for at := fast; len(testenv.Objects(t, gate.bucket)) == 0; at++ {
		sendFrames(t, phone.ws, b[at:at+1])
	}
}
