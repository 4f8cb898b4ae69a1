package cloudstore

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// CreateGateway adds a gateway with its default channel, the first entry of its
// log, and its host's token. CodeConflict when the gateway or the token exists.
// It costs four writes.
func (s *Store) CreateGateway(ctx context.Context, gw iris.Gateway, host iris.Token) error {
	def, first := rows.DefaultChannel(), rows.FirstEntry()
	b := s.batch()
	b.Create(s.gateway(gw.ID), newGatewayDoc(gw))
	b.Create(s.channel(gw.ID, def.Lane), newChannelDoc(def))
	b.Create(s.entry(gw.ID, first.Cursor), newEntryDoc(first))
	b.Create(s.token(host.Hash), newTokenDoc(host))
	err := b.Commit(ctx)
	if status.Code(err) == codes.AlreadyExists {
		return rows.GatewayExists(gw.ID)
	}
	return wrap(ctx, err, "creating gateway %s", gw.ID)
}

// Gateway returns the gateway's row; CodeNotFound when there is none.
func (s *Store) Gateway(ctx context.Context, g string) (iris.Gateway, error) {
	doc, err := get[gatewayDoc](ctx, s, s.gateway(g))
	switch {
	case missing(err):
		return iris.Gateway{}, rows.NoGateway(g)
	case err != nil:
		return iris.Gateway{}, wrap(ctx, err, "reading gateway %s", g)
	}
	return doc.noun(), nil
}

// Gateways returns all gateways, oldest first.
func (s *Store) Gateways(ctx context.Context) ([]iris.Gateway, error) {
	docs, err := list[gatewayDoc](ctx, s, "gateways", s.client.Collection("gateways").Query)
	if err != nil {
		return nil, wrap(ctx, err, "listing the gateways")
	}
	out := nouns(docs, gatewayDoc.noun)
	slices.SortFunc(out, rows.CompareGateways)
	return out, nil
}
