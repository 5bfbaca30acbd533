// Package webhooksign forms and signs requests as Standard Webhooks 1.0.0 prescribes: HMAC-SHA256 over
// id, time and body.
package webhooksign

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Payload is the body of a request: an event as Standard Webhooks recommends.
type Payload struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	ID        string `json:"id"`
	Subject   string `json:"subject"`
	Source    string `json:"source"`
	Data      any    `json:"data"`
}

// Headers of a signed request.
const (
	IDHeader        = "Webhook-Id" // the same in every try
	TimestampHeader = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

const (
	prefix  = "whsec_"
	keySize = 32 // bytes; the standard allows 24 to 64
)

var errSecret = errors.New("the secret of a webhook must be whsec_ and the base64 form of 24 to 64 bytes")

// NewSecret returns a new random secret.
func NewSecret() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return prefix + base64.StdEncoding.EncodeToString(key)
}

// Header returns the headers of a request, with a signature by each secret. The id must
// have no dot, or another id and time could have the same signature.
func Header(id string, at time.Time, body []byte, secrets ...string) (http.Header, error) {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		var ok bool
		if keys[i], ok = keyOf(secret); !ok {
			return nil, errSecret
		}
	}
	return header(id, at, body, keys...), nil
}

// HeaderOfText is Header with a secret of any form: the key of a secret that is not
// whsec_ and base64 is its text.
func HeaderOfText(id string, at time.Time, body []byte, secret string) http.Header {
	key, ok := keyOf(secret)
	if !ok {
		key = []byte(secret)
	}
	return header(id, at, body, key)
}

func keyOf(secret string) (key []byte, ok bool) {
	text, ok := strings.CutPrefix(secret, prefix)
	key, err := base64.StdEncoding.DecodeString(text)
	return key, ok && err == nil && len(key) >= 24 && len(key) <= 64
}

func header(id string, at time.Time, body []byte, keys ...[]byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	list := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "."))
		mac.Write(body)
		list[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return http.Header{
		"Content-Type": {"application/json"}, IDHeader: {id}, TimestampHeader: {stamp}, SignatureHeader: {strings.Join(list, " ")},
	}
}
