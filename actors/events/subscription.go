package events

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/events"
	"weir/internal/backoff"
	"weir/internal/outbound"
)

// Caller makes HTTP calls. [*outbound.Client] implements it.
type Caller interface {
	Do(ctx context.Context, method, url string, header http.Header, body []byte) (outbound.Answer, error)
}

// Format is the encoding of an event.
type Format string

// The formats.
const (
	EventGrid   Format = "eventgrid"   // an array of one event in the schema of Event Grid
	CloudEvents Format = "cloudevents" // CloudEvents 1.0, structured mode
)

// Subscription is an address to which the router's events are posted.
type Subscription struct {
	URL    string
	Format Format
	Topic  string // identifies the Weir that sends: its public URL
}

// Name returns the receiver's name: the host and part of a hash of the URL, which
// may hold a secret.
func (s Subscription) Name() string {
	host := "subscription"
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		host = u.Host
	}
	sum := sha256.Sum256([]byte(s.URL))
	return fmt.Sprintf("%.80s-%s", host, hex.EncodeToString(sum[:4]))
}

// Subscriber returns the receiver of a subscription. Before the first event it
// performs the handshake; a subscriber that does not support that gets its events
// all the same.
func Subscriber(s Subscription, calls Caller) Receiver {
	p := &subscriber{Subscription: s, calls: calls, agreed: make(chan bool, 1)}
	p.agreed <- false
	return Receiver{
		Name:    s.Name(),
		Wants:   func(e events.Event) bool { return e.Source == "router" },
		Order:   jobOf,
		Deliver: p.deliver,
	}
}

// jobOf returns the order key: the job, so that the events of a job stay in order
// whatever their subject, or the subject of other events.
func jobOf(e events.Event) string {
	var about struct {
		Job string `json:"jobId"`
	}
	if json.Unmarshal(e.Data, &about) != nil || about.Job == "" {
		return e.Subject
	}
	return "job/" + about.Job
}

type subscriber struct {
	Subscription
	calls  Caller
	agreed chan bool // holds whether the handshake is done; empty while a delivery looks or performs it
}

// statusError is an answer with a status other than 2xx.
type statusError struct {
	status int
	after  time.Duration // the receiver demands that much time before the next try
}

func (e statusError) Error() string { return "the receiver answered " + strconv.Itoa(e.status) }

func (s *subscriber) deliver(ctx context.Context, e events.Event) error {
	if err := s.handshake(ctx); err != nil {
		return err
	}
	body, header, err := s.encode(e)
	if err != nil {
		return err
	}
	answer, err := s.calls.Do(ctx, http.MethodPost, s.URL, header, body)
	return statusOf(answer, err)
}

// statusOf returns the error of an answer whose body is not used: its status decides,
// whatever became of the body.
func statusOf(answer outbound.Answer, err error) error {
	if answer.Status != 0 {
		err = nil
	}
	return answerError(answer, err)
}

func answerError(answer outbound.Answer, err error) error {
	if err == nil && (answer.Status < 200 || answer.Status > 299) {
		return statusError{answer.Status, backoff.RetryAfter(answer.Header.Get("Retry-After"), time.Now())}
	}
	return err
}

func (s *subscriber) encode(e events.Event) ([]byte, http.Header, error) {
	if s.Format == CloudEvents {
		body, err := json.Marshal(CloudEvent(e, s.Topic))
		return body, http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}, err
	}
	body, err := json.Marshal([]gridEvent{{
		ID: eventID(&e), Topic: s.Topic, Subject: e.Subject, Data: data(e), Type: e.Type,
		DataVersion: "1.0", MetadataVersion: "1", Time: e.At.UTC().Format(time.RFC3339Nano),
	}})
	return body, s.gridHeader("Notification"), err
}

func (s *subscriber) gridHeader(kind string) http.Header {
	return http.Header{
		"Content-Type":          {"application/json; charset=utf-8"},
		"Aeg-Event-Type":        {kind},
		"Aeg-Subscription-Name": {strings.ToUpper(s.Name())},
		"Aeg-Data-Version":      {"1.0"},
		"Aeg-Metadata-Version":  {"1"},
	}
}

func data(e events.Event) json.RawMessage {
	if len(e.Data) == 0 {
		return json.RawMessage("null")
	}
	return e.Data
}

// gridEvent is an event in the schema of Event Grid.
type gridEvent struct {
	ID              string          `json:"id"`
	Topic           string          `json:"topic"`
	Subject         string          `json:"subject"`
	Data            json.RawMessage `json:"data"`
	Type            string          `json:"eventType"`
	DataVersion     string          `json:"dataVersion"`
	MetadataVersion string          `json:"metadataVersion"`
	Time            string          `json:"eventTime"`
}

// cloudEvent is an event in the form of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Subject     string          `json:"subject,omitempty"`
	Time        string          `json:"time"`
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"`
}

// eventID returns an event's id for receivers, made from its number and its
// instant, since a store that starts empty, or again from a backup, reuses
// numbers.
func eventID(e *events.Event) string {
	return strconv.FormatInt(e.ID, 10) + "-" + strconv.FormatInt(e.At.UnixMicro(), 36)
}

// CloudEvent returns an event in the JSON form of CloudEvents 1.0.
func CloudEvent(e events.Event, source string) any {
	if source == "" {
		source = "weir"
	}
	return cloudEvent{
		SpecVersion: "1.0", ID: eventID(&e), Source: source, Type: e.Type, Subject: e.Subject,
		Time: e.At.UTC().Format(time.RFC3339Nano), ContentType: "application/json", Data: data(e),
	}
}

// handshake performs the format's handshake, once per process. Events follow whatever
// the answer is: the operator who configured the address has agreed already. Only
// a receiver that cannot be reached is asked again.
func (s *subscriber) handshake(ctx context.Context) error {
	var done bool
	select { // the first delivery performs it, the others wait
	case done = <-s.agreed:
		defer func() { s.agreed <- done }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if done {
		return nil
	}
	ask := s.validate
	if s.Format == CloudEvents {
		ask = s.requestOrigin
	}
	if _, err := ask(ctx); err != nil && outbound.KindOf(err) != outbound.TooLarge {
		return err
	}
	done = true
	return nil
}

// validate sends Event Grid's validation event, which a receiver answers with
// {"validationResponse": code}.
func (s *subscriber) validate(ctx context.Context) (outbound.Answer, error) {
	about, err := json.Marshal(map[string]string{"validationCode": rand.Text()})
	if err != nil {
		return outbound.Answer{}, err
	}
	body, err := json.Marshal([]gridEvent{{
		ID: rand.Text(), Topic: s.Topic, Data: about, Type: "Microsoft.EventGrid.SubscriptionValidationEvent",
		DataVersion: "2", MetadataVersion: "1", Time: time.Now().UTC().Format(time.RFC3339Nano),
	}})
	if err != nil {
		return outbound.Answer{}, err
	}
	return s.calls.Do(ctx, http.MethodPost, s.URL, s.gridHeader("SubscriptionValidation"), body)
}

// requestOrigin sends the request of CloudEvents' web hook specification.
func (s *subscriber) requestOrigin(ctx context.Context) (outbound.Answer, error) {
	origin := "weir"
	if u, err := url.Parse(s.Topic); err == nil && u.Hostname() != "" {
		origin = u.Hostname()
	}
	return s.calls.Do(ctx, http.MethodOptions, s.URL, http.Header{"Webhook-Request-Origin": {origin}}, nil)
}
