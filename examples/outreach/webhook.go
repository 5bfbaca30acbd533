package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// receiver takes events that Weir posts. It verifies them as Standard Webhooks prescribes,
// and answers 2xx once they are durable here; Weir repeats what was answered otherwise.
type receiver struct {
	key   []byte
	now   func() time.Time
	apply func(kind string, data []byte) error
}

const (
	maxBody   = 1 << 20
	tolerance = 5 * time.Minute // of the clocks, and against replayed requests
)

// ServeHTTP implements http.Handler.
func (h *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large or incomplete", http.StatusBadRequest)
		return
	}
	if err := verify(h.key, r.Header, body, h.now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var event struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err = json.Unmarshal(body, &event); err == nil {
		err = h.apply(event.Type, event.Data)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// keyOf returns the key of a secret in the form of Standard Webhooks.
func keyOf(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 16 {
		return nil, errors.New("WEBHOOK_SECRET must be whsec_ and base64, as Weir returned it")
	}
	return key, nil
}

var errSignature = errors.New("the signature is wrong or too old")

// verify checks the signature of a request: one of several, while the secret is rotated.
func verify(key []byte, header http.Header, body []byte, now time.Time) error {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if at := time.Unix(seconds, 0); err != nil || id == "" || now.Sub(at).Abs() > tolerance {
		return errSignature
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for _, one := range strings.Fields(header.Get("Webhook-Signature")) {
		text, ok := strings.CutPrefix(one, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return errSignature
}
