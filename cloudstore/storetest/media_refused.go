package storetest

import (
	"fmt"
	"strings"

	"iris-gateway/iris"
)

// What is not as it was announced is no medium, and leaves nothing.
func testMediaAnnounced(f *mediaFixture) {
	f.broken = true
	b := noise(partSize+10, 1)
	for name, c := range map[string]struct {
		announced int
		sum       string
		want      iris.Code
	}{
		"too many bytes": {len(b) - 1, hashOf(b), iris.CodeMediaTooLarge},
		"too few bytes":  {len(b) + 1, hashOf(b), iris.CodeUnsupported},
		"wrong hash":     {len(b), hashOf(b[1:]), iris.CodeUnsupported},
		"no hash":        {len(b), "", iris.CodeUnsupported},
	} {
		u := f.begin("key", c.announced, false)
		err := send(u, b)
		if err == nil {
			_, err = u.Finish(f.ctx, c.sum)
		}
		code(f, err, c.want)
		_, again := u.Finish(f.ctx, hashOf(b))
		if again == nil {
			f.Errorf("%s: a broken upload can be finished", name)
		}
		noError(f.T, u.Abort())
		_, err = f.UploadedMedia(f.ctx, f.g, "key")
		code(f, err, iris.CodeNotFound)
		f.left(0)
	}
	equal(f, "what may be stored", len(f.read(f.store("key", b).ID, 0, -1)), len(b)) // the key is free
}

func testMediaTooLarge(f *mediaFixture) {
	for _, size := range []int64{Limits.MaxBytes + 1, -1} {
		_, err := f.BeginUpload(f.ctx, f.g, "key", iris.Media{Size: size}, false)
		code(f, err, iris.CodeMediaTooLarge)
	}
	noError(f.T, f.begin("key", int(Limits.MaxBytes), false).Abort())
}

// What is being sent counts as well: two at once do not pass the quota together.
func testMediaQuota(f *mediaFixture) {
	first := f.store("first", noise(1000, 1))
	u := f.begin("sent", int(Limits.MaxBytes), false)
	left := Limits.Quota - Limits.MaxBytes - 1000
	_, err := f.BeginUpload(f.ctx, f.g, "key", iris.Media{Size: left + 1}, false)
	code(f, err, iris.CodeMediaTooLarge)
	if !strings.Contains(err.Error(), fmt.Sprint(left)) {
		f.Errorf("%q does not tell that %d bytes are left", err, left)
	}
	noError(f.T, f.begin("fits", int(left), false).Abort())
	_, err = f.BeginUpload(f.ctx, f.gateway(), "key", iris.Media{Size: left + 1}, false)
	noError(f.T, err)
	noError(f.T, u.Abort())
	noError(f.T, f.DeleteMedia(f.ctx, f.g, first.ID))
	noError(f.T, f.begin("all", int(Limits.MaxBytes), false).Abort())
	_, err = f.BeginUpload(f.ctx, f.g, "key", iris.Media{Size: left + 1000}, false)
	noError(f.T, err)
}

func testMediaIsolation(f *mediaFixture) {
	_, err := f.BeginUpload(f.ctx, iris.NewID("g_"), "key", iris.Media{Size: 1}, false)
	code(f, err, iris.CodeNotFound) // a gateway that there is not, any more
	m := f.store("key", noise(10, 1))
	other := f.gateway()
	_, err = f.Media(f.ctx, other, m.ID)
	code(f, err, iris.CodeNotFound)
	_, _, err = f.OpenMedia(f.ctx, other, m.ID, 0, -1)
	code(f, err, iris.CodeNotFound)
	_, err = f.UploadedMedia(f.ctx, other, "key")
	code(f, err, iris.CodeNotFound)
	noError(f.T, f.DeleteMedia(f.ctx, other, m.ID))
	f.holds(m.ID, noise(10, 1))
	_, err = f.BeginUpload(f.ctx, other, "key", iris.Media{ID: m.ID, Size: 10}, true)
	noError(f.T, err) // an id is unique in its gateway only
}
