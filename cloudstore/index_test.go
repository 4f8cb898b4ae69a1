package cloudstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"reflect"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// index is a composite index, in the file and in the emulator's report.
type index struct {
	Name            string // of the report: …/collectionGroups/{group}/indexes/_
	CollectionGroup string // of the file
	QueryScope      string
	Fields          []struct{ FieldPath, Order, ArrayConfig string }
}

func (x index) String() string {
	if x.CollectionGroup == "" {
		x.CollectionGroup = path.Base(path.Dir(path.Dir(x.Name)))
	}
	s := x.CollectionGroup + " " + x.QueryScope
	for _, f := range x.Fields {
		if f.FieldPath != "__name__" { // implied
			s += fmt.Sprintf(" %s:%s%s", f.FieldPath, f.Order, f.ArrayConfig)
		}
	}
	return s
}

// The emulator makes up every index that a query needs; Firestore refuses the
// query. So what the emulator made up must be what firestore.indexes.json says,
// no more and no less. A new query of this package belongs in here.
func TestIndexes(t *testing.T) {
	t.Parallel()
	emu := testenv.Firestore(t)
	s, err := cloudstore.Open(t.Context(), cloudstore.Config{Project: emu.Project})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	everyQuery(t, s)

	var file struct{ Indexes []index }
	raw, err := os.ReadFile("../terraform/firestore.indexes.json")
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, x := range file.Indexes {
		declared[x.String()] = true
	}
	used := usedIndexes(t, emu)
	if !reflect.DeepEqual(declared, used) {
		t.Fatalf("firestore.indexes.json has %v,\nthe queries of cloudstore use %v", declared, used)
	}
}

func everyQuery(t *testing.T, s *cloudstore.Store) {
	t.Helper()
	ctx := t.Context()
	gw := iris.Gateway{ID: "g"}
	if err := s.CreateGateway(ctx, gw, iris.Token{Hash: "h"}); err != nil {
		t.Fatal(err)
	}
	listening, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := s.Append(ctx, "g", iris.Commit{Entry: iris.Entry{Cursor: 2, Writer: "other"}}); err != nil {
		t.Fatal(err)
	}
	for name, query := range map[string]func() error{
		"head":      func() error { _, err := s.Head(ctx, "g"); return err },
		"entries":   func() error { _, err := s.Entries(ctx, "g", 0, 5); return err },
		"follow":    func() error { return s.Follow(listening, "g", 0, "w", func([]iris.Entry) { cancel() }) },
		"notify":    func() error { _, err := s.NotifyEntries(ctx, "g", 0, 5); return err },
		"gateways":  func() error { _, err := s.Gateways(ctx); return err },
		"channels":  func() error { _, err := s.Channels(ctx, "g"); return err },
		"devices":   func() error { _, err := s.Devices(ctx, "g"); return err },
		"pickers":   func() error { _, err := s.Pickers(ctx, "g"); return err },
		"pairings":  func() error { _, err := s.Pairings(ctx, "g"); return err },
		"lives":     func() error { _, err := s.Lives(ctx, "g"); return err },
		"deletions": func() error { _, err := s.Deletions(ctx, "g"); return err },
		"scrub": func() error {
			none := func(e iris.Entry) (iris.Entry, bool) { return e, false }
			return s.Scrub(ctx, "g", iris.Touching{Messages: []string{"m"}, Lanes: []iris.Lane{{}}}, none)
		},
		"media":          func() error { _, err := s.MediaMessages(ctx, "g", "md", 5); return err },
		"history":        func() error { _, _, err := s.History(ctx, "g", iris.Lane{}, nil, 5); return err },
		"export":         func() error { _, err := s.ExportMessages(ctx, "g", iris.ExportPlace{ID: "m"}, 5); return err },
		"count":          func() error { _, err := s.CountMessages(ctx, "g"); return err },
		"search":         func() error { return find(s, iris.Search{}) },
		"search channel": func() error { return find(s, iris.Search{ChatID: "c"}) },
		"search thread":  func() error { return find(s, iris.Search{ChatID: "c", ThreadID: "t"}) },
		"search on":      func() error { return find(s, iris.Search{After: iris.Place{At: time.Now(), Row: "r"}}) },
		"history before": func() error {
			_, _, err := s.History(ctx, "g", iris.Lane{}, &iris.Message{ID: "m"}, 5)
			return err
		},
	} {
		if err := query(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// find searches with several terms, so that they are counted too.
func find(s *cloudstore.Store, q iris.Search) error {
	q.Terms = []string{"one", "two"}
	_, err := s.Search(context.Background(), "g", q)
	return err
}

func usedIndexes(t *testing.T, emu testenv.Emulator) map[string]bool {
	t.Helper()
	url := fmt.Sprintf("http://%s/emulator/v1/projects/%s:indexUsage?database=projects/%s/databases/(default)", emu.Host, emu.Project, emu.Project)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var report struct{ Reports []struct{ Index index } }
	if err := json.NewDecoder(resp.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, r := range report.Reports {
		used[r.Index.String()] = true
	}
	return used
}
