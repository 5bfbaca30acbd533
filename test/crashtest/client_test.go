package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// client uses the API as any program would.
type client struct {
	t    *testing.T
	base string
	http *http.Client
}

func newClient(t *testing.T, base string) *client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t, base, &http.Client{Transport: transport, Timeout: 15 * time.Second}}
}

// answer is a response; status 0: none arrived.
type answer struct {
	status     int
	retryAfter string
	body       []byte
}

// do makes one request. A dead program is not an error: the answer has status 0.
func (c *client) do(ctx context.Context, method, path string, body any) answer {
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Error(err)
		return answer{}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		c.t.Error(err)
		return answer{}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body, request.ContentLength = http.NoBody, 0
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return answer{}
	}
	return answer{response.StatusCode, response.Header.Get("Retry-After"), text}
}

// insist repeats a request until it gets the status.
func (c *client) insist(method, path string, body any, status int, into any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), upWithin)
	defer cancel()
	for {
		a := c.do(ctx, method, path, body)
		if a.status == status {
			if into != nil {
				if err := json.Unmarshal(a.body, into); err != nil {
					c.t.Fatal(err)
				}
			}
			return
		}
		if a.status/100 == 4 || !rest(ctx.Done(), 10*time.Millisecond) {
			c.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
		}
	}
}

// contact is a contact as the API returns it.
type contact struct {
	ID         string     `json:"id"`
	Key        string     `json:"key"`
	State      string     `json:"state"`
	Outcome    string     `json:"outcome"`
	Reason     string     `json:"reason"`
	FinishedAt *time.Time `json:"finished_at"`
	Attempts   []attempt  `json:"attempts"`
}

type attempt struct {
	ID          string     `json:"id"`
	Number      int        `json:"number"`
	ClaimedAt   *time.Time `json:"claimed_at"`
	LastHeardAt *time.Time `json:"last_heard_at"`
	FinishedAt  *time.Time `json:"finished_at"`
	ProviderRef string     `json:"provider_ref"`
	Reason      string     `json:"reason"`
}

// list reads all contacts of a channel. Contacts with several attempts are read
// one by one, because the list has only the latest attempt.
func (c *client) list(channel string) []contact {
	c.t.Helper()
	all := c.pages("channel=" + channel)
	for i := range all {
		if n := len(all[i].Attempts); n > 0 && all[i].Attempts[n-1].Number > 1 {
			c.insist(http.MethodGet, "/v1/contacts/"+all[i].ID, nil, http.StatusOK, &all[i])
		}
	}
	return all
}

// pages reads a list to its end.
func (c *client) pages(filter string) []contact {
	c.t.Helper()
	var all []contact
	for cursor := ""; ; {
		var page struct {
			Contacts []contact `json:"contacts"`
			Next     string    `json:"next_cursor"`
		}
		path := "/v1/contacts?limit=500&" + filter
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		c.insist(http.MethodGet, path, nil, http.StatusOK, &page)
		all = append(all, page.Contacts...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// figures are a channel's live numbers.
type figures struct {
	State    string `json:"state"`
	Reason   string `json:"state_reason"`
	Capacity int    `json:"capacity"`
	InFlight int    `json:"in_flight"`
	Sending  int    `json:"sending"`
	Active   int    `json:"active"`
	Unknown  int    `json:"unknown"`
	Queued   int64  `json:"queued"`
}

func (f figures) String() string {
	return fmt.Sprintf("%s %s, %d of %d in flight (%d sending, %d active, %d unknown), %d queued",
		f.State, f.Reason, f.InFlight, f.Capacity, f.Sending, f.Active, f.Unknown, f.Queued)
}

func (f figures) over() bool { return f.InFlight == 0 && f.Queued == 0 }
