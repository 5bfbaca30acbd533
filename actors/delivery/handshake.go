package delivery

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"weir/internal/outbound"
)

// shake performs the format's handshake, once per process. Events follow whatever
// the answer is: the operator who configured the address has agreed already. Only
// a receiver that cannot be reached is asked again.
func (s *subscriber) shake(ctx context.Context) error {
	if s.agreed(false) {
		return nil
	}
	select { // the first delivery performs it, the others wait
	case s.hand <- struct{}{}:
		defer func() { <-s.hand }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.agreed(false) {
		return nil
	}
	ask := s.validate
	if s.Format == CloudEvents {
		ask = s.requestOrigin
	}
	if _, err := ask(ctx); err != nil && outbound.KindOf(err) != outbound.TooLarge {
		return err
	}
	s.agreed(true)
	return nil
}

// agreed reports whether the handshake is done; if now is set, it marks it done.
func (s *subscriber) agreed(now bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shaken = s.shaken || now
	return s.shaken
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
