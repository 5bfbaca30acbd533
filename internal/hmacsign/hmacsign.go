// Package hmacsign signs requests to the job router's API as clients of Azure
// Communication Services do: HMAC-SHA256 over method, target, date, host and the
// hash of the body.
//
// A key is never part of an error or of printed output.
package hmacsign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The headers of a signed request, and the min length of a key in bytes.
const (
	DateHeader = "X-Ms-Date"
	HashHeader = "X-Ms-Content-Sha256"
	minKey     = 8
)

// Key is an access key. It prints only as a placeholder.
type Key struct{ bytes []byte }

// ParseKey parses the base64 form in which keys are issued.
func ParseKey(text string) (Key, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) < minKey {
		return Key{}, errors.New("the access key must be the base64 form of 8 bytes or more")
	}
	return Key{b}, nil
}

// Format implements fmt.Formatter, so that no verb shows the key.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }

// MarshalText implements encoding.TextMarshaler, for the same reason.
func (Key) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Sign sets the headers of a signed request. body must be the body that the
// request will send; the target must not change afterwards.
func (k Key) Sign(r *http.Request, body []byte, now time.Time) {
	sum := sha256.Sum256(body)
	hash := base64.StdEncoding.EncodeToString(sum[:])
	date := now.UTC().Format(http.TimeFormat)
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	mac := hmac.New(sha256.New, k.bytes)
	mac.Write([]byte(r.Method + "\n" + r.URL.RequestURI() + "\n" + date + ";" + host + ";" + hash))
	r.Header.Set(DateHeader, date)
	r.Header.Set(HashHeader, hash)
	r.Header.Set("Authorization", "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature="+
		base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
