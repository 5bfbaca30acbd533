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

// Application returns what delivers events to applications that have to answer. The
// request body is the event in the same form as elsewhere in Weir: [events.Event] in JSON.
//
// find returns the destination of an event. answered handles the body of a 2xx answer: the
// event counts as delivered once it has returned no error; until then it may be called
// again.
func Application(
	calls Caller, find func(context.Context, events.Event) (Hook, error), answered func(ctx context.Context, e events.Event, body []byte) error,
) func(context.Context, events.Event) error {
	return func(ctx context.Context, e events.Event) error {
		to, err := find(ctx, e)
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
		return answered(ctx, e, answer.Body)
	}
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
