package cloudstore

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// Token returns what is kept of a token; CodeAuth when it is unknown. It does
// not look at the expiry: that is the caller's.
func (s *Store) Token(ctx context.Context, hash string) (iris.Token, error) {
	doc, err := get[tokenDoc](ctx, s, s.token(hash))
	switch {
	case missing(err):
		return iris.Token{}, rows.TokenUnknown()
	case err != nil:
		return iris.Token{}, wrap(ctx, err, "reading a token")
	}
	return doc.noun(), nil
}

// CreateToken adds a token; CodeConflict when its hash is taken, CodeNotFound
// when its gateway is gone.
func (s *Store) CreateToken(ctx context.Context, t iris.Token) error {
	ref := s.token(t.Hash)
	_, err := s.within(ctx, t.Gateway, ref, func(tx *firestore.Transaction, _ gatewayDoc) error { return tx.Create(ref, newTokenDoc(t)) })
	if status.Code(err) == codes.AlreadyExists {
		return rows.TokenExists()
	}
	return wrap(ctx, err, "creating a token")
}

// BindToken binds a device's token to the device that uses it first, and makes
// or updates the device's row in the token's gateway: a known device keeps its
// cursor and all else but name and seen, a new one is d. Its old token, if it
// had another, is deleted. Repeating it changes nothing. CodeAuth when the
// token is unknown, no device's, or bound to another device.
//
// It costs two reads, and two writes when there is something to bind. Both rows
// must still be as they were read, else it decides again: another device may
// have been quicker, and of two tokens that a device uses at once one must go.
func (s *Store) BindToken(ctx context.Context, hash string, d iris.Device) error {
	for {
		done, err := s.tryBind(ctx, hash, d)
		switch {
		case done || err == nil:
			return err
		case !stale(err):
			return wrap(ctx, err, "binding a token to device %s", d.ID)
		}
		// Somebody else wrote. They will not go on for ever: each round of
		// theirs settles one row, and the context bounds ours.
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return wrap(ctx, err, "binding a token to device %s", d.ID)
		}
	}
}

// tryBind reads, decides and writes once. When done, its error is the answer.
func (s *Store) tryBind(ctx context.Context, hash string, d iris.Device) (done bool, err error) {
	tokenSnap, err := s.token(hash).Get(ctx)
	s.spend(Read, "tokens", 1)
	if missing(err) {
		return true, rows.TokenUnknown()
	}
	var token tokenDoc
	if err == nil {
		err = tokenSnap.DataTo(&token)
	}
	if err != nil {
		return false, err
	}
	old, oldTime, err := s.knownDevice(ctx, token.Gateway, d.ID)
	if err != nil {
		return false, err
	}
	bind, err := rows.Bind(token.noun(), d, old)
	if err != nil || bind.Done {
		return true, err
	}
	b := s.batch()
	b.Update(tokenSnap.Ref, []firestore.Update{
		{Path: "device", Value: d.ID},
		{Path: "expires", Value: firestore.Delete},
	}, firestore.LastUpdateTime(tokenSnap.UpdateTime))
	ref := s.device(token.Gateway, d.ID)
	if old == nil {
		b.Create(ref, newDeviceDoc(bind.Device))
	} else {
		b.Update(ref, []firestore.Update{
			{Path: "token", Value: hash},
			{Path: "name", Value: bind.Device.Name},
			{Path: "seen", Value: bind.Device.Seen},
		}, firestore.LastUpdateTime(oldTime))
	}
	if bind.OldToken != "" {
		b.Delete(s.token(bind.OldToken))
	}
	err = b.Commit(ctx)
	return false, err
}

// knownDevice reads a device and when it was last written; nil for a new one.
func (s *Store) knownDevice(ctx context.Context, g, d string) (*iris.Device, time.Time, error) {
	snap, err := s.device(g, d).Get(ctx)
	s.spend(Read, "devices", 1)
	if missing(err) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	var doc deviceDoc
	if err := snap.DataTo(&doc); err != nil {
		return nil, time.Time{}, err
	}
	known := doc.noun()
	return &known, snap.UpdateTime, nil
}

// Device returns a device's row; CodeNotFound when there is none.
func (s *Store) Device(ctx context.Context, g, d string) (iris.Device, error) {
	doc, err := get[deviceDoc](ctx, s, s.device(g, d))
	switch {
	case missing(err):
		return iris.Device{}, rows.NoDevice(d)
	case err != nil:
		return iris.Device{}, wrap(ctx, err, "reading device %s", d)
	}
	return doc.noun(), nil
}

// Devices returns all devices of a gateway, oldest first.
func (s *Store) Devices(ctx context.Context, g string) ([]iris.Device, error) {
	docs, err := list[deviceDoc](ctx, s, "devices", s.gateway(g).Collection("devices").Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing the devices of %s", g)
	}
	out := nouns(docs, deviceDoc.noun)
	slices.SortFunc(out, rows.CompareDevices)
	return out, nil
}

// SetDeviceCursor notes that a device has received everything up to cursor, if
// the row does not say more: several connections of a device may write. It is
// CodeNotFound when the device is gone: an Update, so that it cannot come back
// as a ghost.
func (s *Store) SetDeviceCursor(ctx context.Context, g, d string, cursor int64) error {
	ref := s.device(g, d)
	_, err := ref.Update(ctx, []firestore.Update{{Path: "cursor", Value: firestore.FieldTransformMaximum(cursor)}})
	s.spent(Write, ref, err)
	if missing(err) {
		return rows.NoDevice(d)
	}
	return wrap(ctx, err, "moving the cursor of device %s", d)
}

// Pairings returns the tokens of a gateway that no device has used yet, oldest
// first, those that have expired too. It reads all tokens of the gateway: they
// are few, and a query for the unused ones would need a composite index.
func (s *Store) Pairings(ctx context.Context, g string) ([]iris.Token, error) {
	docs, err := list[tokenDoc](ctx, s, "tokens", s.client.Collection("tokens").Where("gateway", "==", g))
	if err != nil {
		return nil, wrap(ctx, err, "listing the pairings of %s", g)
	}
	out := slices.DeleteFunc(nouns(docs, tokenDoc.noun), func(t iris.Token) bool { return !rows.IsPairing(t, g) })
	slices.SortFunc(out, rows.CompareTokens)
	return out, nil
}

// DropPairing removes a token of the gateway that no device has used;
// CodeNotFound when there is none, or a device uses it at this moment.
func (s *Store) DropPairing(ctx context.Context, g, hash string) error {
	if !rows.IsHash(hash) {
		return rows.NoPairing(hash)
	}
	snap, err := s.token(hash).Get(ctx)
	s.spend(Read, "tokens", 1)
	if missing(err) {
		return rows.NoPairing(hash)
	}
	var doc tokenDoc
	if err == nil {
		err = snap.DataTo(&doc)
	}
	if err != nil {
		return wrap(ctx, err, "reading a token")
	}
	if !rows.IsPairing(doc.noun(), g) {
		return rows.NoPairing(hash)
	}
	_, err = snap.Ref.Delete(ctx, firestore.LastUpdateTime(snap.UpdateTime))
	s.spent(Delete, snap.Ref, err)
	if stale(err) {
		return rows.NoPairing(hash)
	}
	return wrap(ctx, err, "dropping a pairing of %s", g)
}
