package router

import (
	"crypto/hmac"
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
	"sync"
	"time"

	"weir"
)

// Headers and scheme of a signed request.
const (
	headerDate = "X-Ms-Date"
	headerHash = "X-Ms-Content-Sha256"
	scheme     = "HMAC-SHA256"
)

// signatures verifies requests against the access keys.
type signatures struct {
	keys   []*sync.Pool // of signers, one pool per key
	base64 *base64.Encoding
}

// signer holds the reusable state for computing signatures.
type signer struct {
	mac  hash.Hash
	text []byte // the string to sign
	sum  []byte
}

// newSignatures prepares reusable signers for each key.
func newSignatures(keys [][]byte) signatures {
	s := signatures{base64: base64.StdEncoding.Strict()}
	for _, key := range keys {
		s.keys = append(s.keys, &sync.Pool{New: func() any { return &signer{mac: hmac.New(sha256.New, key)} }})
	}
	return s
}

// digest is a SHA-256 or an HMAC-SHA256.
type digest [sha256.Size]byte

// digest decodes the base64 form of a digest.
func (s signatures) digest(text string) (d digest, ok bool) {
	var from [44]byte // length of the base64 form
	var to [33]byte
	if copy(from[:], text) != len(text) || len(text) != len(from) {
		return d, false
	}
	n, err := s.base64.Decode(to[:], from[:])
	return digest(to[:sha256.Size]), err == nil && n == sha256.Size
}

// signatureError returns the error for an invalid signature. The detail is no secret: the
// sender knows what was signed.
func signatureError(code, detail string) error {
	return &weir.Error{
		Code: weir.CodeUnauthorised, Message: "the request is not signed with an access key of this server",
		Fields: []weir.FieldError{{Code: code, Detail: detail}},
	}
}

// check verifies the signature of a request's head and returns the hash that the
// body must have.
func (s signatures) check(r *http.Request, now time.Time) (hash digest, err error) {
	a, err := s.parseAuthorization(r.Header["Authorization"])
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
	if hash, ok = s.digest(text); !ok {
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
func (s signatures) signed(r *http.Request, signature digest, date, hash string) bool {
	if s.signedUnder(r.Host, r, signature, date, hash) {
		return true
	}
	for _, host := range otherHosts(r.Host) {
		if s.signedUnder(host, r, signature, date, hash) {
			return true
		}
	}
	return false
}

// signedUnder checks the signature for one form of Host.
func (s signatures) signedUnder(host string, r *http.Request, signature digest, date, hash string) bool {
	found := 0
	sent, anew := targets(r)
	for _, key := range s.keys {
		x := key.Get().(*signer) //nolint:forcetypeassert // the pool has nothing else
		found |= x.signs(signature, r.Method, sent, date, host, hash)
		if anew != sent {
			found |= x.signs(signature, r.Method, anew, date, host, hash)
		}
		key.Put(x)
	}
	return found == 1
}

// otherHosts returns further forms of Host that clients sign: the Java client omits
// every port, and some clients and proxies add or remove the default one.
func otherHosts(sent string) []string {
	if i := strings.LastIndexByte(sent, ':'); i > strings.LastIndexByte(sent, ']') {
		return []string{sent[:i]}
	}
	return []string{sent + ":443", sent + ":80"}
}

// signs returns 1 if the signature is that of the request, otherwise 0.
func (x *signer) signs(signature digest, method, target, date, host, hash string) int {
	x.text = append(append(append(x.text[:0], method...), '\n'), target...)
	x.text = append(append(append(x.text, '\n'), date...), ';')
	x.text = append(append(append(x.text, host...), ';'), hash...)
	x.mac.Reset()
	x.mac.Write(x.text)
	x.sum = x.mac.Sum(x.sum[:0])
	return subtle.ConstantTimeCompare(x.sum, signature[:])
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

// targets returns the forms of path and query that clients sign: as sent, and with
// the query reserialized as a form, as the JavaScript client does.
func targets(r *http.Request) (sent, anew string) {
	sent = r.RequestURI
	if !strings.HasPrefix(sent, "/") {
		sent = r.URL.RequestURI() // absolute form, from a proxy
	}
	path, query, asked := strings.Cut(sent, "?")
	switch {
	case !asked || query != "" && isCanonicalForm(query):
		return sent, sent
	}
	if form := reserializeForm(query); form != "" {
		return sent, path + "?" + form
	}
	return sent, path
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
func (s signatures) parseAuthorization(values []string) (authorization, error) {
	const usual = scheme + " SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature="
	var a authorization
	if len(values) != 1 {
		return a, signatureError("MissingAuthorization", "the header Authorization must be given exactly once")
	}
	if text, ok := strings.CutPrefix(values[0], usual); ok {
		if a.signature, ok = s.digest(text); ok {
			a.dateHeader = headerDate
			return a, nil
		}
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
	if a.signature, ok = s.digest(signature); !ok {
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

// isCanonicalForm reports whether a query is certainly unchanged by [reserializeForm]. If it
// is false, the query may or may not change.
func isCanonicalForm(query string) bool {
	named := false
	for i := range len(query) {
		switch c := query[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '*', c == '-', c == '.', c == '_', c == '+':
		case c == '=' && !named:
			named = true
		case c == '&' && named:
			named = false
		default:
			return false
		}
	}
	return named
}

// escaped matches a valid escape.
var escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescapeForm decodes valid escapes and keeps invalid ones as they are. Invalid
// UTF-8 becomes U+FFFD.
func unescapeForm(s string) string {
	s = escaped.ReplaceAllStringFunc(strings.ReplaceAll(s, "+", " "), func(escape string) string {
		b, _ := hex.DecodeString(escape[1:])
		return string(b)
	})
	return strings.ToValidUTF8(s, "\uFFFD")
}

// escapeForm differs from [url.QueryEscape] in a tilde, which it escapes, and an asterisk,
// which it keeps.
func escapeForm(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(s), "~", "%7E"), "%2A", "*")
}
