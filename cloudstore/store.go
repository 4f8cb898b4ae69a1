// Package cloudstore keeps Iris in Firestore, and the bytes of media in Cloud
// Storage. It is the only package that imports a Google SDK (package
// importtest holds that); what it keeps, and why in this form, is in log.md.
//
// Its methods take and return the nouns of package iris. Rows that are missing
// or taken are answered with an [iris.Error], refusals of [Store.Append] with
// one of its three outcomes; all other errors are Firestore's, wrapped with
// what was tried, and wrap the context's error when the context has ended.
//
// Package memstore is the same store in memory; package storetest holds the two
// together.
package cloudstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/iris"
)

// Config says which database to use.
type Config struct {
	Project    string // Google Cloud project; "" asks the metadata server
	Database   string // "" is "(default)"
	MaxSockets int    // how many gateways may be followed at once

	// Bucket is where the bytes of media are; "": this store has no media.
	Bucket string
	Media  iris.MediaLimits

	// Retention is how long messages and media are kept, 0 for ever. They get
	// the field expires; of messages a TTL policy removes what has expired.
	Retention time.Duration

	// Count is told of each operation that is billed, with what it is for;
	// nil when nobody counts. It is called from many goroutines.
	Count func(op Operation, purpose string, n int)
}

// Store is Iris in Firestore. Its methods may be called from any goroutine.
type Store struct {
	*media.Library // the media; nil without a bucket

	client *firestore.Client // reads and commits
	// listen carries nothing but listeners. A gRPC connection has room for
	// 100 streams, and the 101st call of any kind waits without an error:
	// with listeners on client every commit would stop (log.md, "Tail").
	listen    *firestore.Client
	bucket    *bucket // nil: no media
	retention time.Duration
	told      func(op Operation, purpose string, n int) // nil when nobody counts
}

// listenersPerConnection leaves half of a connection's streams free, because a
// pool deals its connections out in turn, not by how full they are.
const listenersPerConnection = 50

// Open connects to Firestore, or to the emulator that FIRESTORE_EMULATOR_HOST
// names (with it the project must be given). It does no call yet: see
// [Store.Ready].
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Project == "" {
		if os.Getenv("FIRESTORE_EMULATOR_HOST") != "" {
			return nil, errors.New("cloudstore: with FIRESTORE_EMULATOR_HOST the project must be named: set IRIS_PROJECT to any id, such as demo-iris")
		}
		project, err := DetectProject(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Project = project
	}
	client, err := connect(ctx, cfg, 1)
	if err != nil {
		return nil, err
	}
	connections := (cfg.MaxSockets + listenersPerConnection - 1) / listenersPerConnection
	listen, err := connect(ctx, cfg, max(1, connections))
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s := &Store{client: client, listen: listen, retention: cfg.Retention, told: cfg.Count}
	if cfg.Bucket == "" {
		return s, nil
	}
	if s.bucket, err = openBucket(ctx, cfg.Bucket); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Library = &media.Library{Rows: mediaRows{s}, Bucket: s.bucket, Limits: cfg.Media, Now: time.Now, Retention: cfg.Retention}
	return s, nil
}

func connect(ctx context.Context, cfg Config, connections int) (*firestore.Client, error) {
	if cfg.Database == "" {
		cfg.Database = firestore.DefaultDatabaseID
	}
	client, err := firestore.NewClientWithDatabase(ctx, cfg.Project, cfg.Database,
		option.WithGRPCConnectionPool(connections),
		// The client has no keepalive of its own. On a connection that went
		// silently a listener waits, without an error, for as long as the
		// kernel's keepalive takes (2 h), and calls fail until its
		// retransmissions end (15 min). The emulator gets no pings: the
		// client makes the connection to it without these options.
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:    time.Minute,
			Timeout: 20 * time.Second,
		})),
	)
	if err != nil {
		return nil, fmt.Errorf("cloudstore: connecting to Firestore, project %s, database %s: %w", cfg.Project, cfg.Database, err)
	}
	return client, nil
}

// Ready reports whether Firestore and the bucket answer.
func (s *Store) Ready(ctx context.Context) error {
	return errors.Join(s.FirestoreReady(ctx), s.BucketReady(ctx))
}

// FirestoreReady reports whether Firestore answers. It costs one read.
func (s *Store) FirestoreReady(ctx context.Context) error {
	_, err := s.client.Doc("tokens/ready").Get(ctx)
	s.spend(Read, "ready", 1)
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return wrap(ctx, err, "asking Firestore whether it is there")
}

// BucketReady reports whether the bucket, if there is one, answers. It costs one
// listing.
func (s *Store) BucketReady(ctx context.Context) error {
	if s.bucket == nil {
		return nil
	}
	return s.bucket.ready(ctx)
}

// Close ends all connections. Followers must have returned before.
func (s *Store) Close() error {
	err := errors.Join(s.client.Close(), s.listen.Close())
	if s.bucket != nil {
		err = errors.Join(err, s.bucket.close())
	}
	return err
}
