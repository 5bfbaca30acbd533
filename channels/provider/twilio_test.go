package provider_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"net/url"
	"testing"

	"weir/channels"
	"weir/channels/provider"
)

// Twilio signs an https address without its port, or with it: both are its own, whatever form
// PUBLIC_URL has. An address of another host, port, path or query is not.
func TestTwilioSigned_PortOfTheAddressDoesNotMatter(t *testing.T) {
	t.Parallel()
	form := url.Values{"Body": {"STOP"}, "From": {"+15550100"}}
	const token = "token"
	targets := []string{"/callbacks/a/s/incoming", "/callbacks/a/s/incoming?x=1:443&y=%2F", "/callbacks/a/s/message/1-1-1?u=https://b:443/"}
	for public, signed := range map[string][]string{
		"https://weir.example":           {"https://weir.example", "https://weir.example:443"},
		"https://weir.example:443":       {"https://weir.example", "https://weir.example:443"},
		"https://weir.example:8443":      {"https://weir.example", "https://weir.example:443", "https://weir.example:8443"},
		"https://weir.example:8443/base": {"https://weir.example/base", "https://weir.example:443/base", "https://weir.example:8443/base"},
		"https://[2001:db8::1]:8443":     {"https://[2001:db8::1]", "https://[2001:db8::1]:443", "https://[2001:db8::1]:8443"},
		"https://[2001:db8::1]":          {"https://[2001:db8::1]", "https://[2001:db8::1]:443"},
		"http://weir.example":            {"http://weir.example", "http://weir.example:80"},
		"http://weir.example:8080":       {"http://weir.example", "http://weir.example:80", "http://weir.example:8080"},
	} {
		for _, target := range targets {
			check := func(over string, want bool) {
				t.Helper()
				mac := hmac.New(sha1.New, []byte(token))
				mac.Write([]byte(over + "BodySTOPFrom+15550100"))
				c := channels.Callback{
					Method: http.MethodPost, PublicURL: public, Target: target, Form: form, Body: []byte(form.Encode()),
					Header: http.Header{"X-Twilio-Signature": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}},
				}
				if got := provider.TwilioSigned(&c, token); got != want {
					t.Errorf("PUBLIC_URL %s, signed over %s: %v", public, over, got)
				}
				if provider.TwilioSigned(&c, "other") {
					t.Errorf("%s passes with another token", over)
				}
			}
			for _, base := range signed {
				check(base+target, true)
				check(base+target+"&z=1", false)
			}
			for _, base := range []string{"https://other.example", "https://weir.example:9443", "ftp://weir.example", ""} {
				check(base+target, false)
			}
		}
	}
}
