package httpgateway

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // gateways sign with it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/channels"
	"weir/channels/provider"
)

// verification is how callbacks prove that the gateway sent them.
// The secret in the callback's address was compared before: a scheme adds to it and never
// replaces it.
type verification struct {
	scheme   string
	header   string
	prefix   string // of the header's value
	user     string
	secret   string
	hash     func() hash.Hash
	encoding string
	over     []string
}

// Schemes of verification.
const (
	schemeNone     = "none"  // the secret in the address alone
	schemeToken    = "token" // a header equals a secret
	schemeBasic    = "basic"
	schemeHMAC     = "hmac"
	schemeStandard = "standard-webhooks"
	schemeTwilio   = "twilio"
)

// SHA-1 is among them because Twilio and others sign with it; as a key of HMAC its collisions do
// not matter.
func hashes() map[string]func() hash.Hash {
	return map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}
}

func readVerification(callback object, secrets map[string]string) verification {
	o, ok := callback.object("verify", "scheme", "header", "prefix", "secret", "username", "hash", "encoding", "over")
	if !ok {
		return verification{}
	}
	o.need("scheme", "one of none, token, basic, hmac, standard-webhooks, twilio")
	out := verification{
		scheme: o.choice("scheme", schemeNone, schemeToken, schemeBasic, schemeHMAC, schemeStandard, schemeTwilio),
		header: http.CanonicalHeaderKey(o.text("header")), prefix: o.text("prefix"), user: o.text("username"),
		encoding: o.choice("encoding", "hex", "base64"),
		hash:     hashes()[o.choice("hash", "sha256", "sha1", "sha512")],
	}
	if out.scheme == schemeNone {
		return out
	}
	o.need("secret", "the name of the secret in the setting secrets")
	if o.has("secret") {
		name := o.text("secret")
		checkDefined(o.wrong, "secret", name, o.under("secret"), secrets)
		out.secret = secrets[name]
	}
	switch out.scheme {
	case schemeToken, schemeHMAC:
		o.need("header", "the header that holds the token or signature")
	case schemeBasic:
		o.need("username", "the user that the gateway calls as")
	case schemeStandard:
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(out.secret, "whsec_"))
		if o.has("secret") && (err != nil || len(raw) < 24) { // a short key can be guessed from one signature
			o.wrong.fail(o.under("secret"), "format", "must be a secret of Standard Webhooks: whsec_ and base64 of at least 24 bytes")
		}
		out.secret = string(raw)
	case schemeTwilio:
		if o.has("secret") && (out.secret == "" || strings.ContainsFunc(out.secret, unicode.IsSpace)) {
			o.wrong.fail(o.under("secret"), "format", "must be the auth token of the account, without blanks")
		}
	}
	if out.scheme == schemeHMAC {
		out.over = readSigned(o)
	}
	return out
}

// readSigned reads what a signature covers.
func readSigned(o object) []string {
	if !o.has("over") {
		return []string{"body"}
	}
	list := o.texts("over")
	for i, s := range list {
		if kind, rest, _ := strings.Cut(s, ":"); s != "body" && s != "url" && (kind != "header" && kind != "text" || rest == "") {
			o.wrong.fail(o.under("over")+"/"+strconv.Itoa(i), "value", "must be body, url, header:NAME or text:LITERAL")
		}
	}
	return list
}

// check returns [channels.ErrForged] unless a callback proves its sender.
func (v *verification) check(c *channels.Callback) error {
	ok := false
	switch v.scheme {
	case schemeNone:
		ok = true
	case schemeToken:
		ok = equal(c.Header.Get(v.header), v.prefix+v.secret)
	case schemeBasic:
		ok = equal(c.Header.Get("Authorization"), "Basic "+base64.StdEncoding.EncodeToString([]byte(v.user+":"+v.secret)))
	case schemeHMAC:
		got, prefixed := strings.CutPrefix(c.Header.Get(v.header), v.prefix)
		ok = prefixed && equal(got, v.encode(sum(v.hash, v.secret, v.covered(c))))
	case schemeStandard:
		ok = v.standard(c)
	case schemeTwilio:
		ok = v.secret != "" && provider.TwilioSigned(c, v.secret)
	}
	if !ok {
		return channels.ErrForged
	}
	return nil
}

// equal compares in constant time. An empty secret or header is never right.
func equal(got, want string) bool { return want != "" && hmac.Equal([]byte(got), []byte(want)) }

func sum(h func() hash.Hash, secret, content string) []byte {
	mac := hmac.New(h, []byte(secret))
	_, _ = mac.Write([]byte(content))
	return mac.Sum(nil)
}

func (v *verification) encode(sum []byte) string {
	if v.encoding == "base64" {
		return base64.StdEncoding.EncodeToString(sum)
	}
	return hex.EncodeToString(sum)
}

// covered returns what a signature covers.
// Its url is that of [channels.Callback.URL], which Weir gave to the gateway: the signature holds
// behind a proxy that rewrites host or path.
func (v *verification) covered(c *channels.Callback) string {
	var b strings.Builder
	for _, s := range v.over {
		switch kind, rest, _ := strings.Cut(s, ":"); kind {
		case "body":
			b.Write(c.Body)
		case "url":
			b.WriteString(c.URL())
		case "header":
			b.WriteString(c.Header.Get(rest))
		default:
			b.WriteString(rest)
		}
	}
	return b.String()
}

// standardTolerance is how far the timestamp of a Standard Webhooks request may be off.
// It is the tolerance of all reference libraries, both ways. Within it, a recorded request can be
// repeated: a repeated report changes nothing.
const standardTolerance = 5 * time.Minute

// standard verifies a request as Standard Webhooks 1.0.0 has it.
func (v *verification) standard(c *channels.Callback) bool {
	id, stamp := c.Header.Get("Webhook-Id"), c.Header.Get("Webhook-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" || c.At.Sub(time.Unix(at, 0)).Abs() > standardTolerance {
		return false
	}
	want := "v1," + base64.StdEncoding.EncodeToString(sum(sha256.New, v.secret, fmt.Sprintf("%s.%s.%s", id, stamp, c.Body)))
	return slices.ContainsFunc(strings.Fields(c.Header.Get("Webhook-Signature")), func(got string) bool { return equal(got, want) })
}
