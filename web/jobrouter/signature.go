package jobrouter

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir"
)

// Headers and scheme of a signed request.
const (
	headerDate = "X-Ms-Date"
	headerHash = "X-Ms-Content-Sha256"
	scheme     = "HMAC-SHA256"
)

// digest is a SHA-256 or an HMAC-SHA256.
type digest [sha256.Size]byte

// digestOf decodes the base64 form of a digest.
func digestOf(text string) (d digest, ok bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != len(d) || len(text) != base64.StdEncoding.EncodedLen(len(d)) {
		return d, false
	}
	return digest(b), true
}

// signatureError returns the error for an invalid signature. The detail is no secret: the
// sender knows what was signed.
func signatureError(code, detail string) error {
	return &weir.Error{
		Code: weir.CodeUnauthorised, Message: "the request is not signed with an access key of this server",
		Fields: []weir.FieldError{{Code: code, Detail: detail}},
	}
}

// verify verifies the signature of a request's head and returns the hash that the
// body must have.
func (s *service) verify(r *http.Request, now time.Time) (hash digest, err error) {
	a, err := parseAuthorization(r.Header["Authorization"])
	if err != nil {
		return hash, err
	}
	date, ok := singleHeader(r.Header, a.dateHeader)
	if !ok {
		return hash, signatureError("MissingDate", "the header "+strings.ToLower(a.dateHeader)+" must be given exactly once")
	}
	at, err := time.Parse(http.TimeFormat, date)
	if err != nil {
		return hash, signatureError("InvalidDate", "the date must be like Mon, 02 Jan 2006 15:04:05 GMT")
	}
	text, ok := singleHeader(r.Header, headerHash)
	if !ok {
		return hash, signatureError("MissingContentHash", "the header x-ms-content-sha256 must be given exactly once")
	}
	if hash, ok = digestOf(text); !ok {
		return hash, signatureError("InvalidContentHash", "x-ms-content-sha256 must be the base64 form of a SHA-256")
	}
	if !s.signed(r, a.signature, date, text) {
		return hash, signatureError("SignatureMismatch", "the signature does not match")
	}
	if at.Before(now.Add(-maxSkew)) || at.After(now.Add(maxSkew)) {
		return hash, signatureError("DateOutOfRange", "the date differs too much from the server's time")
	}
	return hash, nil
}

// signed reports whether the signature is valid for any form of Host. For each form
// it tries all keys and both forms of the target, so that the timing does not
// reveal which one matched.
func (s *service) signed(r *http.Request, signature digest, date, body string) bool {
	targets := targetsOf(r)
	for _, host := range hostsOf(r.Host) {
		found := 0
		for _, macs := range s.macs {
			mac := macs.Get().(hash.Hash) //nolint:forcetypeassert // the pool has nothing else
			for _, target := range targets {
				mac.Reset()
				mac.Write([]byte(r.Method + "\n" + target + "\n" + date + ";" + host + ";" + body))
				found |= subtle.ConstantTimeCompare(mac.Sum(nil), signature[:])
			}
			macs.Put(mac)
		}
		if found == 1 {
			return true
		}
	}
	return false
}

// hostsOf returns the forms of Host that clients sign: as sent, and others, because the Java
// client omits every port, and some clients and proxies add or remove the default one.
func hostsOf(sent string) []string {
	if i := strings.LastIndexByte(sent, ':'); i > strings.LastIndexByte(sent, ']') {
		return []string{sent, sent[:i]}
	}
	return []string{sent, sent + ":443", sent + ":80"}
}

// sameHash reports whether the body has the signed hash.
func sameHash(body []byte, want digest) bool {
	got := sha256.Sum256(body)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// singleHeader returns a header that must occur exactly once: of two values, a proxy
// and this server could use different ones.
func singleHeader(h http.Header, name string) (string, bool) {
	v := h[name]
	if len(v) != 1 || v[0] == "" {
		return "", false
	}
	return v[0], true
}

// targetsOf returns the forms of path and query that clients sign: as sent, and with
// the query reserialized as a form, as the JavaScript client does.
func targetsOf(r *http.Request) []string {
	sent := r.RequestURI
	if !strings.HasPrefix(sent, "/") {
		sent = r.URL.RequestURI() // absolute form, from a proxy
	}
	path, query, _ := strings.Cut(sent, "?")
	if form := reserializeForm(query); form != "" {
		path += "?" + form
	}
	return slices.Compact([]string{sent, path})
}

// authorization is a parsed Authorization header.
type authorization struct {
	dateHeader string
	signature  digest
}

// parseAuthorization parses
//
//	HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=<base64>
//
// where date may stand in for x-ms-date.
func parseAuthorization(values []string) (authorization, error) {
	var a authorization
	if len(values) != 1 {
		return a, signatureError("MissingAuthorization", "the header Authorization must be given exactly once")
	}
	name, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(name, scheme) {
		return a, signatureError("UnknownScheme", "the scheme must be "+scheme)
	}
	parts := strings.Split(strings.TrimSpace(rest), "&")
	slices.Sort(parts) // Signature first, whatever their order
	if len(parts) != 2 {
		return a, signatureError("InvalidAuthorization", "must have SignedHeaders and Signature")
	}
	signature, isSignature := strings.CutPrefix(parts[0], "Signature=")
	signed, isSigned := strings.CutPrefix(parts[1], "SignedHeaders=")
	if !isSignature || !isSigned {
		return a, signatureError("InvalidAuthorization", "must have SignedHeaders and Signature")
	}
	switch strings.ToLower(signed) {
	case "x-ms-date;host;x-ms-content-sha256":
		a.dateHeader = headerDate
	case "date;host;x-ms-content-sha256":
		a.dateHeader = "Date"
	default:
		return a, signatureError("InvalidSignedHeaders", "SignedHeaders must be x-ms-date;host;x-ms-content-sha256")
	}
	var ok bool
	if a.signature, ok = digestOf(signature); !ok {
		return a, signatureError("InvalidSignature", "the signature must be the base64 form of an HMAC-SHA256")
	}
	return a, nil
}

// reserializeForm rewrites a query the way browsers serialize forms: in the same order,
// a space as a plus sign, and everything except letters, digits and *-._ escaped.
// [net/url.Values.Encode] sorts, and escapes differently.
func reserializeForm(query string) string {
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			name, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, escapeForm(unescapeForm(name))+"="+escapeForm(unescapeForm(value)))
		}
	}
	return strings.Join(pairs, "&")
}

// escaped matches a valid escape.
var escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescapeForm decodes valid escapes and keeps invalid ones as they are. Invalid
// UTF-8 becomes U+FFFD.
func unescapeForm(s string) string {
	out, err := url.QueryUnescape(s)
	if err != nil { // for an invalid escape
		out = escaped.ReplaceAllStringFunc(strings.ReplaceAll(s, "+", " "), func(escape string) string {
			b, _ := hex.DecodeString(escape[1:])
			return string(b)
		})
	}
	return strings.ToValidUTF8(out, "\uFFFD")
}

// escapeForm differs from [url.QueryEscape] in a tilde, which it escapes, and an asterisk,
// which it keeps.
func escapeForm(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(s), "~", "%7E"), "%2A", "*")
}
