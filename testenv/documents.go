package testenv

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Documents returns all documents of a Firestore emulator's project, each as its
// path and content in JSON: what is not in here is nowhere in the database.
func Documents(t testing.TB, emu Emulator) []string {
	t.Helper()
	return documents(t, emu.Host, fmt.Sprintf("projects/%s/databases/(default)/documents", emu.Project))
}

// documents reads what is below a document, or below the root.
func documents(t testing.TB, host, parent string) []string {
	t.Helper()
	var all []string
	var collections struct {
		CollectionIDs []string `json:"collectionIds"`
	}
	firestoreCall(t, http.MethodPost, host, parent+":listCollectionIds", &collections)
	for _, c := range collections.CollectionIDs {
		for token := ""; ; {
			var page struct {
				Documents []struct {
					Name   string
					Fields json.RawMessage
				}
				NextPageToken string
			}
			// showMissing: a document that is gone may still have collections.
			firestoreCall(t, http.MethodGet, host, parent+"/"+c+"?showMissing=true&pageSize=300&pageToken="+url.QueryEscape(token), &page)
			for _, d := range page.Documents {
				if d.Fields != nil {
					all = append(all, d.Name+" "+string(d.Fields))
				}
				all = append(all, documents(t, host, d.Name)...)
			}
			if token = page.NextPageToken; token == "" {
				break
			}
		}
	}
	return all
}

func firestoreCall(t testing.TB, method, host, path string, answer any) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+host+"/v1/"+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner") // past the rules
	req.Close = true                                // no goroutine stays behind
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, answer)
	}
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v %s", method, path, res.Status, err, body)
	}
}
