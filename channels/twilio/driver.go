package twilio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// client talks to one account. It has no state.
type client struct {
	base        *url.URL // …/2010-04-01/Accounts/{sid}
	http        *http.Client
	credentials provider.Credentials
	callbacks   string
	authToken   string // empty: callbacks are not verified
	from        string
}

func newClient(c channels.Config, errs []weir.FieldError) (client, error) {
	if len(errs) > 0 {
		return client{}, fmt.Errorf("%s: %s", errs[0].Pointer, errs[0].Detail)
	}
	if c.HTTP == nil {
		return client{}, errors.New("no HTTP client")
	}
	base, err := provider.BaseURL(cmp.Or(text(c.Settings, "base_url"), defaultBaseURL))
	if err != nil {
		return client{}, err
	}
	sid, token := text(c.Settings, "account_sid"), text(c.Settings, "auth_token")
	credentials := provider.Credentials{Username: sid, Password: token}
	if key := text(c.Settings, "api_key"); key != "" {
		// An API key can be revoked without a change of the auth token, which other programs use.
		credentials = provider.Credentials{Username: key, Password: text(c.Settings, "api_secret")}
	}
	return client{
		base: base.JoinPath("2010-04-01", "Accounts", sid), http: c.HTTP, credentials: credentials,
		callbacks: c.CallbackURL, authToken: token, from: text(c.Settings, "from"),
	}, nil
}

// retryPolicy makes Twilio repeat a callback that failed or was answered 5xx. By
// default it repeats only a connect that failed, once. The fragment is neither
// sent nor signed.
const retryPolicy = "#rc=5&rp=ct,rt,5xx&tt=15000"

// post makes a request that creates or changes something.
func (c *client) post(ctx context.Context, form url.Values, path ...string) provider.Result {
	r, err := provider.NewRequest(http.MethodPost, c.base.JoinPath(path...), strings.NewReader(form.Encode()), c.credentials)
	if err != nil {
		return provider.Result{Delivery: provider.NeverSent, Err: err}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(ctx, r)
}

func (c *client) get(ctx context.Context, query url.Values, path ...string) provider.Result {
	target := c.base.JoinPath(path...)
	target.RawQuery = query.Encode()
	r, err := provider.NewRequest(http.MethodGet, target, nil, c.credentials)
	if err != nil {
		return provider.Result{Delivery: provider.NeverSent, Err: err}
	}
	return c.do(ctx, r)
}

// maxBody has room for a page of a list.
// A list has up to 1,000 entries, each with a text of up to 1,600 characters.
const maxBody = 8 << 20

func (c *client) do(ctx context.Context, r *http.Request) provider.Result {
	r.Header.Set("Accept", "application/json")
	return provider.Do(ctx, c.http, r, maxBody)
}

// Prepare does nothing: each message and call carries its callback URL.
func (c *client) Prepare(context.Context) error { return nil }

// Status queries the account.
func (c *client) Status(ctx context.Context) channels.Status {
	// The account itself is beside the folder that all other requests are below.
	target := *c
	target.base = c.base.JoinPath("..")
	sid := c.base.Path[strings.LastIndexByte(c.base.Path, '/')+1:]
	r := target.get(ctx, nil, sid+".json")
	var account struct{ SID, Status string }
	switch {
	case !r.OK():
		return r.Erring()
	case json.Unmarshal(r.Body, &account) != nil || account.SID != sid:
		return channels.Status{Health: weir.Erring, Reason: "answer not understood"}
	case account.Status != "active":
		return channels.Status{Health: weir.Down, Reason: "account not active"}
	}
	return channels.Status{Health: weir.Up}
}

// resource is a message or a call as the API returns it.
type resource struct {
	SID         string `json:"sid"`
	Status      string `json:"status"`
	Direction   string `json:"direction"`
	To          string `json:"to"`
	Body        string `json:"body"`        // of a message
	ErrorCode   *int   `json:"error_code"`  // of a message
	AnsweredBy  string `json:"answered_by"` // of a call
	DateCreated string `json:"date_created"`
}

// parse reads a message (SM, MM) or a call (CA).
func parse(body []byte, prefixes ...string) (resource, bool) {
	var r resource
	ok := json.Unmarshal(body, &r) == nil && isSID(r.SID, prefixes...)
	return r, ok
}

func (r *resource) code() int {
	if r.ErrorCode == nil {
		return 0
	}
	return *r.ErrorCode
}

// created returns when Twilio made the resource; ok is false if it does not report
// that.
func (r *resource) created() (time.Time, bool) {
	t, err := time.Parse(time.RFC1123Z, r.DateCreated)
	return t, err == nil
}
