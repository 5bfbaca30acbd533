package provider

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio's algorithm
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir/channels"
)

// TwilioSigned reports whether a callback has the signature of an account at Twilio. It
// covers the URL as Weir gave it to Twilio, not as a proxy rewrote it, and the fields of a
// form: names in byte order, each with its distinct values in order.
func TwilioSigned(c *channels.Callback, token string) bool {
	form := c.Form
	if c.Method == http.MethodGet {
		form = nil // everything is in the URL
	}
	// The signature of a body that is no form covers the URL only, which names the body's hash.
	// Without this comparison, any body would pass.
	if len(form) == 0 && len(c.Body) > 0 {
		sum := sha256.Sum256(c.Body)
		want := hex.EncodeToString(sum[:])
		if subtle.ConstantTimeCompare([]byte(strings.ToLower(c.Query.Get("bodySHA256"))), []byte(want)) != 1 {
			return false
		}
	}
	var fields strings.Builder
	for _, name := range slices.Sorted(maps.Keys(form)) {
		// Sorted copies, because the caller reads the form afterwards in the order that it came in.
		for _, v := range slices.Compact(slices.Sorted(slices.Values(form[name]))) {
			fields.WriteString(name + v)
		}
	}
	got, err := base64.StdEncoding.Strict().DecodeString(c.Header.Get("X-Twilio-Signature"))
	if err != nil {
		return false
	}
	signed := false
	for _, base := range twilioBases(c.PublicURL) {
		h := hmac.New(sha1.New, []byte(token))
		_, _ = h.Write([]byte(base + c.Target + fields.String()))
		signed = hmac.Equal(got, h.Sum(nil)) || signed
	}
	return signed
}

// twilioBases returns a public URL as given, without its port, and with the port of its scheme:
// Twilio signs addresses of https without the port that they have, and Twilio's own libraries
// compare with the standard port, too.
func twilioBases(public string) []string {
	u, err := url.Parse(public)
	if err != nil {
		return []string{public}
	}
	bases := []string{public}
	host := strings.TrimSuffix(u.Host, ":"+u.Port())
	for _, port := range []string{"", map[string]string{"https": ":443", "http": ":80"}[u.Scheme]} {
		u.Host = host + port
		bases = append(bases, u.String())
	}
	return bases
}
