package judge

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "github.com/twilio/twilio-go/client"

	"weir"
	"weir/channels"
	driver "weir/channels/twilio"
	"weir/channels/twilio/simulator"
)

// behindAProxy returns a callback as it arrives when a proxy has rewritten scheme,
// host and prefix: of the URL only what is below PUBLIC_URL is left.
func behindAProxy(t *testing.T, target, body, kind, signature string) channels.Callback {
	t.Helper()
	rest, ok := strings.CutPrefix(target, public)
	if !ok {
		t.Fatal(target)
	}
	u, err := url.Parse("http://10.0.0.1:4000" + rest)
	if err != nil {
		t.Fatal(err)
	}
	c := channels.Callback{
		Method: http.MethodPost, Path: strings.TrimPrefix(u.Path, "/callbacks/sms/s3cr3t/"), Query: u.Query(), Body: []byte(body),
		Header:    http.Header{"X-Twilio-Signature": {signature}, "X-Forwarded-Proto": {"http"}, "X-Forwarded-Host": {"10.0.0.1"}},
		PublicURL: public, Target: rest, At: time.Now(),
	}
	if kind == "form" {
		c.Form, _ = url.ParseQuery(body)
	}
	return c
}

// Signatures of the Node library pass, and each single changed byte of them, of the
// URL and of the body fails.
func TestSignature_OfTheNodeLibraryIsAccepted(t *testing.T) {
	message := "/message/7-1z-2"
	cases := []struct {
		URL    string              `json:"url"`
		Params map[string][]string `json:"params,omitempty"`
		Body   string              `json:"body,omitempty"`
	}{
		{URL: base + message, Params: map[string][]string{"MessageSid": {"SM" + strings.Repeat("1", 32)}, "MessageStatus": {"sent"}, "To": {to}, "Empty": {""}}},
		{URL: base + message, Params: map[string][]string{"Sid": {"CA123"}, "SidAccount": {"AC123"}, "MessageSid": {"SM" + strings.Repeat("1", 32)}, "Digits": {"5678", "1234", "1234"}, "Ü": {"☃ +&="}}},
		{URL: base + message + "?a=%20b&c=d%2Be", Params: map[string][]string{"MessageSid": {"SM" + strings.Repeat("1", 32)}, "b": {"1"}, "B": {"2"}}},
		{URL: base + "/other?x=1", Body: `{"property": "value", "boolean": true}`},
	}
	var signed []struct{ URL, Signature string }
	node(t, &signed, "sign", token, marshal(t, cases))
	d := (&peer{url: "http://127.0.0.1:1"}).driver(t, driver.Type(), nil)
	for i, c := range cases {
		body, kind := url.Values(c.Params).Encode(), "form"
		if c.Body != "" {
			body, kind = c.Body, "json"
		}
		fine := func(what, target, body, signature string, want bool) {
			t.Helper()
			_, err := d.ParseCallback(behindAProxy(t, target, body, kind, signature))
			if errors.Is(err, channels.ErrForged) == want {
				t.Errorf("case %d, %s: %v", i, what, err)
			}
		}
		fine("as it is", signed[i].URL, body, signed[i].Signature, true)
		for n := range body {
			changed := body[:n] + string(rune(body[n]^1)) + body[n+1:]
			if kind == "form" {
				was, _ := url.ParseQuery(body)
				is, err := url.ParseQuery(changed)
				if err != nil || was.Encode() == is.Encode() { // not a form; or the same one in another encoding
					continue
				}
			}
			fine("body", signed[i].URL, changed, signed[i].Signature, false)
		}
		for n := range signed[i].Signature {
			s := signed[i].Signature
			fine("signature", signed[i].URL, body, s[:n]+string(rune(s[n]^1))+s[n+1:], false)
		}
		for n := len(public); n < len(signed[i].URL); n++ {
			u := signed[i].URL
			changed := u[:n] + string(rune(u[n]^1)) + u[n+1:]
			if _, err := url.Parse(changed); err != nil || strings.Contains(changed[len(public):], "#") || changed[len(public)] != '/' {
				continue // no request has such a target
			}
			fine("URL", changed, body, signed[i].Signature, false)
		}
		fine("token", signed[i].URL, body, "", false)
	}
}

// The Go library accepts the signatures of the simulator and refuses changed ones.
func TestSignature_OfTheSimulatorIsAccepted(t *testing.T) {
	p := newPeer(t, simulator.Options{})
	a := attempt()
	a.Messages = []string{text}
	if s := p.driver(t, driver.Type(), nil).Send(t.Context(), a); s.Status != channels.Accepted {
		t.Fatalf("got %+v", s)
	}
	a.Messages, a.Call = nil, &weir.Call{TwiML: twiml}
	if s := p.driver(t, driver.VoiceType(), nil).Send(t.Context(), a); s.Status != channels.Accepted {
		t.Fatalf("got %+v", s)
	}
	const want = 6 // sent, delivered; initiated, ringing, in-progress, completed
	deadline := time.After(10 * time.Second)
	for n := range want {
		select {
		case <-p.arrived:
		case <-deadline:
			t.Fatalf("%d callbacks", n)
		}
	}
	validator := sdk.NewRequestValidator(token)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.callbacks {
		values, _ := url.ParseQuery(p.bodies[i])
		params := map[string]string{}
		for k := range values {
			params[k] = values.Get(k)
		}
		signature := r.Header.Get("X-Twilio-Signature")
		if !validator.Validate(r.URL.String(), params, signature) {
			t.Errorf("%s is not accepted", r.URL)
		}
		params["To"] += "0"
		if validator.Validate(r.URL.String(), params, signature) {
			t.Error("a changed one is accepted")
		}
	}
}
