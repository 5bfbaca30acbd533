package callbacks_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/web"
	"weir/web/webtest"
)

// A signature covers the URL that the provider called, whatever a proxy made of it
// on the way, and the body as it was sent.
func TestCallbackSignature_CoversTheCalledURLAndTheBody(t *testing.T) {
	t.Parallel()
	const form = "b=2&a=%2B1&a=&c=x+y"
	for _, tc := range []struct {
		name, request, signed string // SECRET stands for the channel's; signed as below the public URL
		body, signedBody      string
		status                int
	}{
		{name: "as sent", request: "/callbacks/a/SECRET/signed/CONTACT-1/busy", status: 200},
		{name: "query byte for byte", request: "/callbacks/a/SECRET/signed/CONTACT-1/busy?b=%2b&a=1+2&b&=", status: 200},
		{name: "path byte for byte", request: "/callbacks/%61/SECRET/%73igned/CONTACT-1/busy", status: 200},
		{name: "another host and scheme", request: "https://10.0.0.7:8080/callbacks/a/SECRET/signed/CONTACT-1/busy?x=1", signed: "/callbacks/a/SECRET/signed/CONTACT-1/busy?x=1", status: 200},
		{name: "a prefix on the way", request: "/inner/callbacks/a/SECRET/signed/CONTACT-1/busy?x=1", signed: "/callbacks/a/SECRET/signed/CONTACT-1/busy?x=1", status: 200},
		{name: "form", request: "/callbacks/a/SECRET/signed/CONTACT-1/busy", body: form, signedBody: form, status: 200},
		{name: "another query", request: "/callbacks/a/SECRET/signed/CONTACT-1/busy?x=1", signed: "/callbacks/a/SECRET/signed/CONTACT-1/busy?x=2", status: 403},
		{name: "another path", request: "/callbacks/a/SECRET/signed/CONTACT-1/busy", signed: "/callbacks/a/SECRET/signed/CONTACT-1/completed", status: 403},
		{name: "another body", request: "/callbacks/a/SECRET/signed/CONTACT-1/busy", body: form, signedBody: form + "&d=1", status: 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			r.Handler = web.Under("/inner", r.Handler)
			ch := r.Channel("a", "texts")
			c := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
			known := strings.NewReplacer("SECRET", ch.Secret, "CONTACT", c.Ref.String())
			if tc.signed == "" {
				tc.signed = tc.request
			}
			req := httptest.NewRequest("POST", known.Replace(tc.request), strings.NewReader(tc.body))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("X-Signature", "http://weir.test"+known.Replace(tc.signed)+" "+tc.signedBody)
			g := r.Serve(req)
			want := map[string]float64{"applied": 1}
			if tc.status == 403 {
				want = map[string]float64{"forged": 1}
			}
			if d := cmp.Diff(want, r.Results("texts")); g.Status != tc.status || d != "" {
				t.Errorf("%d %s (-want +got):\n%s", g.Status, g.Body, d)
			}
			if strings.Contains(g.Body+r.Logs.String(), ch.Secret) {
				t.Error("the answer or the log holds the secret")
			}
			if compared := strings.Contains(r.Logs.String(), "http://weir.test/callbacks/a/…"); compared != (tc.status == 403) {
				t.Errorf("the log says with which URL a signature was compared: %t\n%s", compared, r.Logs)
			}
			if applied := len(r.Reports); applied != int(want["applied"]) {
				t.Errorf("%d reports went through", applied)
			}
		})
	}
}

// A check of the address by GET is answered as the driver says.
func TestCallbacks_AddressCheckIsAnswered(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	g := r.Call("GET", webtest.CallbackPath(ch, "check?challenge=1234"), "", "")
	if g.Status != 200 || g.Body != "1234" || g.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("%d %q %v", g.Status, g.Body, g.Header)
	}
}

// Drivers see the headers of the provider, and no credential of anybody else.
func TestCallbacks_DriverSeesTheProvidersHeadersOnly(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	req := httptest.NewRequest("POST", webtest.CallbackPath(ch, "headers"), nil)
	for key, value := range map[string]string{"Webhook-Id": "SEEN-1", "Authorization": "SEEN-2", "Cookie": "HIDDEN", "Proxy-Authorization": "HIDDEN"} {
		req.Header.Set(key, value)
	}
	g := r.Serve(req)
	if !strings.Contains(g.Body, "SEEN-1") || !strings.Contains(g.Body, "SEEN-2") || strings.Contains(g.Body, "HIDDEN") {
		t.Error(g.Body)
	}
}
