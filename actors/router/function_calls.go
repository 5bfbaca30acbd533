package router

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"weir/internal/backoff"
	"weir/router/resource"
)

// call calls a rule's function and retries failures that may be temporary. Its
// errors contain no address, because an address may hold a key.
func (f *functions) call(ctx context.Context, rule *resource.Rule, body []byte) ([]byte, error) {
	if f.o.Caller == nil {
		return nil, errNoCaller
	}
	at, done := f.addresses.use(addressOf(rule))
	defer done()
	var err error
	// A function computes a value and changes nothing, so that a repeated call is harmless.
	for try := 1; try <= callTries; try++ {
		if try > 1 && !backoff.Wait(ctx, backoff.Random(try, callRetry, time.Second)) {
			break
		}
		answer, again, failed := f.once(ctx, at, rule, body)
		if failed == nil {
			f.metrics.functions.WithLabelValues("answered").Inc()
			return answer, nil
		}
		if err == nil || !errors.Is(failed, errOpen) { // the failure that opened the breaker is more informative
			err = failed
		}
		if !again {
			break
		}
	}
	f.metrics.functions.WithLabelValues(resultFailed).Inc()
	f.warn(rule, err)
	return nil, err
}

// warn logs a failing function at most once per [warnEvery]; otherwise every job might
// log a line.
func (f *functions) warn(rule *resource.Rule, err error) {
	now := time.Now().UnixNano()
	last := f.warned.Load()
	if now-last < int64(warnEvery) || !f.warned.CompareAndSwap(last, now) {
		return
	}
	f.log.Warn("function failed; jobs are matched or classified without it", "host", hostOf(addressOf(rule)), "error", err)
}

// once makes one call of a function, unless its circuit breaker is open.
func (f *functions) once(ctx context.Context, at *address, rule *resource.Rule, body []byte) (answer []byte, again bool, err error) {
	select {
	case at.slots <- struct{}{}:
		defer func() { <-at.slots }()
	case <-ctx.Done():
		return nil, false, errLate
	}
	if ctx.Err() != nil {
		return nil, false, errLate
	}
	// After the wait for a slot, during which other calls may have opened the breaker.
	if !f.addresses.allow(at, time.Now()) {
		return nil, false, errOpen
	}
	answer, again, err = f.request(ctx, rule, body)
	if ctx.Err() == nil || err == nil { // a canceled ask is no evidence about the function
		f.addresses.note(at, again, time.Now())
	}
	return answer, again, err
}

func (f *functions) request(ctx context.Context, rule *resource.Rule, body []byte) (answer []byte, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}}
	if rule.Kind == resource.RuleWebhook {
		if again, err := f.authorize(ctx, rule, header); err != nil {
			return nil, again, err
		}
	} else if c := rule.Credential; c != nil {
		setKeys(header, c)
	}
	status, answer, err := f.o.Caller.Post(ctx, addressOf(rule), header, body)
	switch {
	case err != nil:
		f.log.Debug("function call failed", "error", err)
		return nil, true, errors.New("the function could not be reached")
	// Anything but 200 is a failure, as the API documents it; other 4xx would fail again.
	case status != http.StatusOK:
		return nil, status >= 500 || status == http.StatusTooManyRequests, fmt.Errorf("the function answered %d", status)
	}
	return answer, false, nil
}

// setKeys sets the key of a function or, without one, of its application.
// The headers are those of Azure Functions.
func setKeys(h http.Header, c *resource.Credential) {
	if key := cmp.Or(c.FunctionKey, c.AppKey); key != "" {
		h.Set("X-Functions-Key", key)
	}
	if c.ClientID != "" {
		h.Set("X-Functions-Clientid", c.ClientID)
	}
}

// authorize adds the access token for a webhook that has an authorization
// server.
func (f *functions) authorize(ctx context.Context, rule *resource.Rule, h http.Header) (again bool, err error) {
	if rule.AuthorizationServerURI == "" || rule.ClientCredential == nil {
		return false, nil
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {rule.ClientCredential.ClientID},
		"client_secret": {rule.ClientCredential.ClientSecret},
	}
	status, answer, err := f.o.Caller.Post(ctx, rule.AuthorizationServerURI,
		http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(form.Encode()))
	if err != nil {
		return true, errToken
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if status != http.StatusOK || json.Unmarshal(answer, &token) != nil || token.AccessToken == "" {
		return status >= 500 || status == http.StatusTooManyRequests, errToken
	}
	h.Set("Authorization", "Bearer "+token.AccessToken)
	return false, nil
}
