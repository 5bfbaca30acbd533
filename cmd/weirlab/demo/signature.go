package demo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// Weir's webhooks for messages, and their signature.
const (
	messageType     = "weir.survey.message"
	timestampHeader = "Weir-Timestamp"
	signatureHeader = "Weir-Signature"
	oldest          = 5 * time.Minute // max age; older requests are rejected as replays
)

// signature returns Weir's signature of a body that was sent at a time: "v1=" and
// the HMAC-SHA256, in hexadecimal, of the time, a dot and the body.
func signature(key, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(timestamp + "."))
	_, _ = mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// signed reports whether a request comes from Weir and is recent.
func signed(key string, h http.Header, body []byte, now time.Time) bool {
	timestamp := h.Get(timestampHeader)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > oldest {
		return false
	}
	return hmac.Equal([]byte(h.Get(signatureHeader)), []byte(signature(key, timestamp, body)))
}
