package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Bodies of the answers of an export (docs/export.md). What is only passed on
// stays as the gateway wrote it.
type (
	// Export is all of a gateway but its messages and media.
	Export struct {
		Gateway  json.RawMessage   // without channels and devices
		Channels []json.RawMessage `json:"channels"`
		Devices  []json.RawMessage `json:"devices"`
		Messages int               `json:"messages"` // how many there are
	}

	// MessagesPage is a page of messages.
	MessagesPage struct {
		Lines []json.RawMessage `json:"messages"`
		Next  string            `json:"next"` // "" at the end
	}

	// MediaPage is a page of media.
	MediaPage struct {
		Media []Medium `json:"media"`
		Next  string   `json:"next"`
	}

	// Medium is a picture or file.
	Medium struct {
		MediaID  string `json:"media_id"`
		Kind     string `json:"kind"`
		Mime     string `json:"mime"`
		Size     int64  `json:"size"`
		Filename string `json:"filename"`
		SHA256   string `json:"sha256"`
		Created  int64  `json:"created"` // ms since 1970
	}
)

// Export reads all of a gateway but its messages and media.
func (c *Client) Export(ctx context.Context, gateway string) (Export, error) {
	var raw map[string]json.RawMessage
	if err := c.call(ctx, http.MethodGet, []string{"gateways", gateway, "export"}, nil, &raw); err != nil {
		return Export{}, err
	}
	var e Export
	for name, to := range map[string]any{"channels": &e.Channels, "devices": &e.Devices, "messages": &e.Messages} {
		if err := json.Unmarshal(raw[name], to); err != nil {
			return e, fmt.Errorf("%s does not answer like an Iris gateway: %s: %w", c.base, name, err)
		}
		delete(raw, name)
	}
	var err error
	e.Gateway, err = json.Marshal(raw)
	return e, err
}

// ExportMessages reads a page of messages; after "" is the first one.
func (c *Client) ExportMessages(ctx context.Context, gateway, after string) (page MessagesPage, err error) {
	err = c.patient().callQuery(ctx, []string{"gateways", gateway, "export", "messages"}, after, &page)
	return page, err
}

// ExportMedia reads a page of what the media are; after "" is the first one.
func (c *Client) ExportMedia(ctx context.Context, gateway, after string) (page MediaPage, err error) {
	err = c.patient().callQuery(ctx, []string{"gateways", gateway, "export", "media"}, after, &page)
	return page, err
}

// ExportMedium reads the bytes of a medium from an offset on, which is not its
// end. The caller closes them.
func (c *Client) ExportMedium(ctx context.Context, gateway, media string, offset int64) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, []string{"gateways", gateway, "export", "media", media}, nil)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := c.patient().HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode >= 300 || offset > 0 && resp.StatusCode != http.StatusPartialContent {
		defer resp.Body.Close()
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what there is of it says enough
		return nil, c.answerError(resp, data)
	}
	return resp.Body, nil
}

// callQuery is call with a query: where a page begins.
func (c *Client) callQuery(ctx context.Context, path []string, after string, out any) error {
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if after != "" {
		req.URL.RawQuery = url.Values{"after": {after}}.Encode()
	}
	return c.do(req, out)
}
