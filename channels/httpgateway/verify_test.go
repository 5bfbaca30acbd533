package httpgateway

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// Each scheme accepts what the gateway signs, and nothing in which a byte differs.
func TestVerify_AcceptsOnlyWhatTheGatewaySigns(t *testing.T) {
	t.Parallel()
	const body, secret = `{"status":"done"}`, "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
	at := time.Unix(1_700_000_000, 0)
	for scheme, header := range map[string]http.Header{
		`{"scheme": "token", "header": "X-Token", "prefix": "key ", "secret": "hook"}`: {"X-Token": {"key " + secret}},
		`{"scheme": "basic", "username": "gw", "secret": "hook"}`:                      {"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("gw:"+secret))}},
		`{"scheme": "hmac", "header": "X-Sig", "prefix": "sha256=", "secret": "hook"}`: {"X-Sig": {"sha256=" + fmt.Sprintf("%x", sumOf(secret, body))}},
		`{"scheme": "standard-webhooks", "secret": "hook"}`: {
			"Webhook-Id": {"m1"}, "Webhook-Timestamp": {"1700000000"},
			"Webhook-Signature": {"v1,AAAA v1," + base64.StdEncoding.EncodeToString(sumOf("secret-secret-secret-secret", "m1.1700000000."+body))},
		},
	} {
		tpl, _, errs := parse(weir.Settings{"secrets": map[string]any{"hook": secret}, "template": `{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "accepted"}],
			"states": {"done": "completed"}, "callback": {"state": "/status", "verify": ` + scheme + `}}`})
		if len(errs) > 0 {
			t.Fatal(scheme, errs)
		}
		d := &driver{t: tpl}
		good := func() channels.Callback {
			return channels.Callback{Method: "POST", Path: "report/7-1z-2/0", Body: []byte(body), Header: header.Clone(), At: at}
		}
		if got, err := d.ParseCallback(good()); err != nil || len(got.Reports) != 1 {
			t.Errorf("%s: %+v, %v", scheme, got, err)
		}
		for name, values := range header {
			for i := range values[0] {
				if name == "Webhook-Signature" && i < 8 {
					continue // of another signature
				}
				c, b := good(), []byte(values[0])
				b[i] ^= 1
				c.Header.Set(name, string(b))
				if _, err := d.ParseCallback(c); !errors.Is(err, channels.ErrForged) {
					t.Errorf("%s, byte %d of %s: %v", scheme, i, name, err)
				}
			}
			late := good()
			late.At = at.Add(6 * time.Minute)
			if _, err := d.ParseCallback(late); (name == "Webhook-Timestamp") && !errors.Is(err, channels.ErrForged) {
				t.Errorf("%s, six minutes later: %v", scheme, err)
			}
			c := good()
			if _, bare, prefixed := strings.Cut(values[0], "="); prefixed && name == "X-Sig" {
				c.Header.Set(name, bare)
				if _, err := d.ParseCallback(c); !errors.Is(err, channels.ErrForged) {
					t.Errorf("%s without the prefix: %v", scheme, err)
				}
			}
			c.Header.Del(name)
			if _, err := d.ParseCallback(c); !errors.Is(err, channels.ErrForged) {
				t.Errorf("%s without %s: %v", scheme, name, err)
			}
		}
	}
}

func TestParse_RefusesWeakSecretsOfCallbacks(t *testing.T) {
	t.Parallel()
	key := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for _, c := range []struct {
		scheme, secret string
		good           bool
	}{
		{"standard-webhooks", "whsec_", false},
		{"standard-webhooks", "whsec_" + key(23), false},
		{"standard-webhooks", "whsec_!", false},
		{"standard-webhooks", "whsec_" + key(24), true},
		{"standard-webhooks", key(32), true},
		{"twilio", " ", false},
		{"twilio", "to ken", false},
		{"twilio", "token\n", false},
		{"twilio", "token", true},
	} {
		_, _, errs := parse(weir.Settings{"secrets": map[string]any{"hook": c.secret}, "template": `{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "accepted"}],
			"states": {"done": "completed"}, "callback": {"state": "/status", "verify": {"scheme": "` + c.scheme + `", "secret": "hook"}}}`})
		if c.good != (len(errs) == 0) || !c.good && (len(errs) != 1 || errs[0].Pointer != "/template/callback/verify/secret" || errs[0].Code != "format") {
			t.Errorf("%s, %q: %+v", c.scheme, c.secret, errs)
		}
	}
}

// The signature of Twilio covers a form, and of any other body the hash that its URL names:
// a body that nothing covers is forged.
func TestVerify_TwilioSignsEveryBody(t *testing.T) {
	t.Parallel()
	const secret, public, body = "token", "https://weir.example", `{"status":"done"}`
	tpl, _, errs := parse(weir.Settings{"secrets": map[string]any{"hook": secret}, "template": `{"send": {"url": "https://x.example/"}, "answer": [{"status": "2xx", "fate": "accepted"}],
		"states": {"done": "completed"}, "callback": {"state": "/status", "verify": {"scheme": "twilio", "secret": "hook"}}}`})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	covered := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	for hash, good := range map[string]bool{covered: true, "": false, strings.Repeat("0", 64): false} {
		target := "/report/7-1z-2/0?bodySHA256=" + hash
		mac := hmac.New(sha1.New, []byte(secret))
		_, _ = mac.Write([]byte(public + target))
		_, err := (&driver{t: tpl}).ParseCallback(channels.Callback{
			Method: "POST", Path: "report/7-1z-2/0", PublicURL: public, Target: target, Query: url.Values{"bodySHA256": {hash}}, Body: []byte(body),
			Header: http.Header{"X-Twilio-Signature": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}},
		})
		if errors.Is(err, channels.ErrForged) == good {
			t.Errorf("hash %q: %v", hash, err)
		}
	}
}

func sumOf(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(text))
	return mac.Sum(nil)
}
