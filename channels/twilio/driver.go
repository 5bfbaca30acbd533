package twilio

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// client talks to one account. It has no state.
type client struct {
	api       provider.API
	account   string // SID
	callbacks string
	authToken string // empty: callbacks are not verified
	from      string
}

func newClient(c channels.Config) (client, error) {
	text := func(key string) string { return provider.Text(c.Settings, key) }
	base, err := provider.BaseURL(cmp.Or(text("base_url"), defaultBaseURL))
	if err != nil {
		return client{}, err
	}
	credentials := provider.Credentials{Username: text("account_sid"), Password: text("auth_token")}
	if key := text("api_key"); key != "" {
		// An API key can be revoked without a change of the auth token, which other programs use.
		credentials = provider.Credentials{Username: key, Password: text("api_secret")}
	}
	return client{
		api: provider.API{
			HTTP: c.HTTP, Base: base.JoinPath("2010-04-01", "Accounts"), Credentials: credentials,
			Header: http.Header{"Accept": {"application/json"}}, MaxBody: maxBody,
		},
		account: text("account_sid"), callbacks: c.CallbackURL, authToken: text("auth_token"), from: text("from"),
	}, nil
}

// retryPolicy makes Twilio repeat a callback that failed or was answered 5xx. By
// default it repeats only a connect that failed, once. The fragment is neither
// sent nor signed.
const retryPolicy = "#rc=5&rp=ct,rt,5xx&tt=15000"

// maxBody has room for a page of a list.
// A list has up to 1,000 entries, each with a text of up to 1,600 characters.
const maxBody = 8 << 20

// post makes a request below the account that creates or changes something.
func (c *client) post(ctx context.Context, form url.Values, path ...string) provider.Result {
	return c.api.Do(ctx, provider.Call{
		Method: http.MethodPost, Path: append([]string{c.account}, path...), Body: []byte(form.Encode()),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
}

// get makes a request below the account that changes nothing.
func (c *client) get(ctx context.Context, query url.Values, path ...string) provider.Result {
	return c.api.Do(ctx, provider.Call{Method: http.MethodGet, Path: append([]string{c.account}, path...), Query: query})
}

// Prepare does nothing: each message and call carries its callback URL.
func (c *client) Prepare(context.Context) error { return nil }

// Status queries the account.
func (c *client) Status(ctx context.Context) channels.Status {
	r := c.api.Do(ctx, provider.Call{Method: http.MethodGet, Path: []string{c.account + ".json"}})
	var account struct{ SID, Status string }
	switch {
	case !r.OK():
		return r.Erring()
	case json.Unmarshal(r.Body, &account) != nil || account.SID != c.account:
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
	Duration    string `json:"duration"`    // of a call, in seconds; null until it ends
	DateCreated string `json:"date_created"`
	Price       string `json:"price"`      // negative: it costs; null until Twilio has billed it
	PriceUnit   string `json:"price_unit"` // ISO 4217
}

// cost returns what Twilio has billed; zero: it has not yet.
func (r *resource) cost() weir.Cost {
	amount, err := strconv.ParseFloat(r.Price, 64)
	if known := amount <= 0 && amount >= -1e6; err != nil || !known || len(r.PriceUnit) != 3 { // also not a number
		return weir.Cost{}
	}
	return weir.Cost{Millionths: int64(math.Round(-amount * 1e6)), Currency: strings.ToUpper(r.PriceUnit)}
}

// parse reads a message (SM, MM) or a call (CA).
func parse(body []byte, prefixes ...string) (resource, bool) {
	var r resource
	ok := json.Unmarshal(body, &r) == nil && isSID(r.SID, prefixes...)
	return r, ok
}

// cancel asks Twilio to cancel a message or call.
func (c *client) cancel(ctx context.Context, kind, sid string) channels.Cancellation {
	r := c.post(ctx, url.Values{"Status": {"canceled"}}, kind, sid+".json")
	if r.OK() {
		switch found, ok := parse(r.Body, "SM", "MM", "CA"); {
		// The answer may come from a proxy: only Twilio's own document about this SID frees the
		// slots.
		case !ok || found.SID != sid:
			return channels.Cancellation{Failed: true, Reason: "answer not understood"}
		case found.Status == "canceled":
			return channels.Cancellation{Canceled: true}
		}
		return channels.Cancellation{Reason: "it is too late to cancel it"}
	}
	if r.Delivery == provider.Answered && r.Err == nil {
		switch code := errorCode(r.Body); {
		case code == 21220 || code == 30409:
			return channels.Cancellation{Reason: "it is too late to cancel it"}
		// Reads of Twilio are only eventually consistent: a call that was just accepted may not
		// be found yet. It keeps its slots, and canceling is retried.
		case code == 20404 && r.Status == http.StatusNotFound:
			return channels.Cancellation{Failed: true, Reason: "not found at the provider"}
		case r.Status == http.StatusBadRequest:
			return channels.Cancellation{Reason: "the provider refuses to cancel it"}
		}
	}
	return channels.Cancellation{Failed: true, Reason: r.Reason()}
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
