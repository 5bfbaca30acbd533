package delivery

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"weir/events"
)

// Headers of a webhook request.
const (
	TimestampHeader = "Weir-Timestamp" // seconds since 1970
	SignatureHeader = "Weir-Signature" // see [Sign]
)

// Hook is the destination of a survey's events.
type Hook struct {
	URL    string // empty: the event is not sent
	Secret string // empty: requests are not signed
}

// Webhook configures the receiver of events that an application has to answer.
type Webhook struct {
	Name  string
	Types []string                  // as in Receiver
	Wants func(events.Event) bool   // as in Receiver
	Order func(events.Event) string // nil: by subject
	// Group and MaxDeferred are as in Receiver.
	Group       func(order string) string
	MaxDeferred int
	// Find returns the destination of an event.
	Find func(ctx context.Context, e events.Event) (Hook, error)
	// Answered handles the body of a 2xx answer. The event counts as delivered once
	// it has returned no error; until then it may be called again.
	Answered func(ctx context.Context, e events.Event, body []byte) error
}

// Receiver returns the receiver of a webhook. The request body is the event in the
// same form as elsewhere in Weir: [events.Event] in JSON.
func (h Webhook) Receiver(calls Caller) Receiver {
	return Receiver{Name: h.Name, Types: h.Types, Wants: h.Wants, Order: h.Order, Group: h.Group, MaxDeferred: h.MaxDeferred, Deliver: func(ctx context.Context, e events.Event) error {
		to, err := h.Find(ctx, e)
		if err != nil || to.URL == "" {
			return err
		}
		body, err := json.Marshal(e)
		if err != nil {
			return err
		}
		header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
		if at := time.Now().Unix(); to.Secret != "" {
			header.Set(TimestampHeader, strconv.FormatInt(at, 10))
			header.Set(SignatureHeader, Sign(to.Secret, at, body))
		}
		answer, err := calls.Do(ctx, http.MethodPost, to.URL, header, body)
		if err := answerError(answer, err); err != nil {
			return err
		}
		return h.Answered(ctx, e, answer.Body)
	}}
}

// Sign returns "v1=" and the HMAC-SHA256, in hexadecimal, of the timestamp, a dot
// and the body.
func Sign(secret string, timestamp int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(strconv.AppendInt(nil, timestamp, 10))
	mac.Write([]byte("."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
