package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Dump returns all documents of the project, one a line, as the emulator encodes
// them: what a test searches that something is gone everywhere.
func (e Emulator) Dump(ctx context.Context) (string, error) {
	d := dumper{base: "http://" + e.Host + "/v1/", ctx: ctx}
	err := d.below("projects/" + e.Project + "/databases/(default)/documents")
	return d.out.String(), err
}

type dumper struct {
	base string
	ctx  context.Context
	out  strings.Builder
}

// below dumps the collections under a document, or of the database.
func (d *dumper) below(parent string) error {
	var list struct {
		CollectionIDs []string `json:"collectionIds"`
	}
	if err := d.call(http.MethodPost, parent+":listCollectionIds", nil, &list); err != nil {
		return err
	}
	for _, id := range list.CollectionIDs {
		if err := d.collection(parent, id); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) collection(parent, id string) error {
	for token := ""; ; {
		var page struct {
			Documents     []json.RawMessage
			NextPageToken string
		}
		query := url.Values{"pageSize": {"300"}, "pageToken": {token}, "showMissing": {"true"}}
		if err := d.call(http.MethodGet, path.Join(parent, id), query, &page); err != nil {
			return err
		}
		for _, doc := range page.Documents {
			var line bytes.Buffer
			var name struct{ Name string }
			if err := json.Compact(&line, doc); err != nil {
				return err
			}
			if err := json.Unmarshal(doc, &name); err != nil {
				return err
			}
			fmt.Fprintln(&d.out, line.String())
			if err := d.below(name.Name); err != nil {
				return err
			}
		}
		if token = page.NextPageToken; token == "" {
			return nil
		}
	}
}

func (d *dumper) call(method, name string, query url.Values, into any) error {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(d.ctx, method, d.base+name+"?"+query.Encode(), body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer owner") // past the security rules
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return fmt.Errorf("dump %s: %s %s", name, res.Status, text)
	}
	return json.NewDecoder(res.Body).Decode(into)
}
