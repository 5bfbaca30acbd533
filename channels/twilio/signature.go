package twilio

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio's algorithm
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir/channels"
)

// signed reports whether a callback has the signature of an account. It covers the
// URL as Weir gave it to Twilio, not as a proxy rewrote it.
func signed(c *channels.Callback, token string) bool {
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
	got, err := base64.StdEncoding.Strict().DecodeString(c.Header.Get("X-Twilio-Signature"))
	return err == nil && hmac.Equal(got, signature(token, c.URL(), form))
}

// signature returns the HMAC of a URL and the parameters of a form: names in byte
// order, each with its distinct values in order.
func signature(token, target string, form url.Values) []byte {
	h := hmac.New(sha1.New, []byte(token))
	write := func(s string) { _, _ = h.Write([]byte(s)) }
	write(target)
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		// A clone, because the caller reads the form afterwards in the order that it came in.
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			write(name)
			write(v)
		}
	}
	return h.Sum(nil)
}
