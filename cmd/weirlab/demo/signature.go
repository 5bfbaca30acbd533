package demo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// Weir's webhooks for messages, and their signature.
const (
	messageType     = "weir.survey.message"
	idHeader        = "Webhook-Id"
	timestampHeader = "Webhook-Timestamp"
	signatureHeader = "Webhook-Signature"
	oldest          = 5 * time.Minute // max age; older requests are rejected as replays
)

// signature returns the signature that Standard Webhooks prescribes for a body that was
// sent at a time: "v1," and the HMAC-SHA256, in base64, of id, time and body.
func signature(key, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = mac.Write([]byte(id + "." + timestamp + "."))
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signed reports whether a request comes from Weir and is recent.
func signed(key string, h http.Header, body []byte, now time.Time) bool {
	timestamp := h.Get(timestampHeader)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > oldest {
		return false
	}
	return hmac.Equal([]byte(h.Get(signatureHeader)), []byte(signature(key, h.Get(idHeader), timestamp, body)))
}
