package cloudstore

import (
	"fmt"

	"cloud.google.com/go/firestore"

	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/iris"
)

// docID makes a document id of an id that comes from outside.
func docID(id string) string { return rows.DocID(id) }

func (s *Store) gateway(g string) *firestore.DocumentRef {
	return gateway(s.client, g)
}

func (s *Store) outbox(g string) *firestore.CollectionRef { return outbox(s.client, g) }

// gateway and outbox name the client: a listener has its own.
func gateway(c *firestore.Client, g string) *firestore.DocumentRef {
	return c.Collection("gateways").Doc(docID(g))
}

func outbox(c *firestore.Client, g string) *firestore.CollectionRef {
	return gateway(c, g).Collection("outbox")
}

func (s *Store) entry(g string, cursor int64) *firestore.DocumentRef {
	return s.outbox(g).Doc(fmt.Sprintf("%012d", cursor))
}

func (s *Store) device(g, d string) *firestore.DocumentRef {
	return s.gateway(g).Collection("devices").Doc(docID(d))
}

func (s *Store) channel(g string, lane iris.Lane) *firestore.DocumentRef {
	return s.gateway(g).Collection("channels").Doc(laneID(lane))
}

func (s *Store) message(g, id string) *firestore.DocumentRef {
	return s.gateway(g).Collection("messages").Doc(docID(id))
}

// token returns the place of a token: its hash is one of ours, no id from
// outside.
func (s *Store) token(hash string) *firestore.DocumentRef {
	return s.client.Collection("tokens").Doc(hash)
}

// laneID names a lane in document ids and in the field that history asks for.
func laneID(lane iris.Lane) string { return docID(lane.Key()) }
