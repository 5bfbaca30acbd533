package events

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
	"weir/internal/webhooksign"
)

// Headers that sign a request to an application beside those of Standard Webhooks.
// Deprecated: the next release does not send them.
const (
	timestampHeader = "Weir-Timestamp" // seconds since 1970
	signatureHeader = "Weir-Signature" // see sign
)

// Hook is the destination of a survey's events.
type Hook struct {
	URL    string // empty: the event is not sent
	Secret string // empty: requests are not signed
	// Here takes the event in this process, instead of an application; nil: it has none.
	Here func(context.Context, events.Event) error
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
		switch {
		case err != nil:
			return err
		case to.Here != nil:
			return to.Here(ctx, e)
		case to.URL == "":
			return nil
		}
		body, err := json.Marshal(e)
		if err != nil {
			return err
		}
		header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
		if now := time.Now(); to.Secret != "" {
			header = webhooksign.HeaderOfText(eventID(&e), now, body, to.Secret)
			header.Set(timestampHeader, strconv.FormatInt(now.Unix(), 10))
			header.Set(signatureHeader, sign(to.Secret, now.Unix(), body))
		}
		answer, err := calls.Do(ctx, http.MethodPost, to.URL, header, body)
		if err := answerError(answer, err); err != nil {
			return err
		}
		return answered(ctx, e, answer.Body)
	}
}

// sign returns "v1=" and the HMAC-SHA256, in hexadecimal, of the timestamp, a dot
// and the body.
func sign(secret string, timestamp int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(strconv.AppendInt(nil, timestamp, 10))
	mac.Write([]byte("."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
