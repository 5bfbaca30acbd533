package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"weir"
	"weir/actors/delivery"
	"weir/actors/surveybroker"
	"weir/config"
	"weir/events"
	"weir/internal/outbound"
)

// pollEventsEvery is how often receivers poll for events that were not announced to
// them. The store announces events of this process at their commit, and events of
// other processes after the polls of the channels' actors.
const pollEventsEvery = 30 * time.Second

// outboundPolicy returns the rules for the addresses that users configure for outbound calls.
func outboundPolicy(c config.Config) outbound.Policy {
	return outbound.Policy{
		AllowPlain: c.OutboundAllow.Plain(), AllowPrivate: c.OutboundAllow.Private(), AllowHosts: c.OutboundAllow.Hosts(),
		Timeout: c.SendTimeout.Duration(),
	}
}

// CheckSubscriptions returns an error that names every subscription that Weir must not call.
func CheckSubscriptions(c config.Config) error {
	var wrong []error
	for i, s := range c.EventSubscriptions {
		if err := outboundPolicy(c).Check(s.URL); err != nil {
			wrong = append(wrong, fmt.Errorf("JOB_ROUTER_EVENT_SUBSCRIPTIONS: address %d of %d: %w; see WEIR_OUTBOUND_ALLOW", i+1, len(c.EventSubscriptions), err))
		}
	}
	return errors.Join(wrong...)
}

// startDelivery starts the delivery of events: events of the router to its subscribers,
// messages and states of respondents to the applications of their surveys. It must
// start before every part that creates events: a new receiver gets only events that
// are committed after it starts.
func (p *components) startDelivery(ctx context.Context, o Options, calls heldCalls) (err error) {
	c := o.Config
	receivers := []delivery.Receiver{p.applications().Receiver(calls)}
	if err := CheckSubscriptions(c); err != nil {
		return err
	}
	for _, s := range c.EventSubscriptions {
		format := s.Format
		if format == "" {
			format = c.EventFormat
		}
		receivers = append(receivers, delivery.Subscriber(delivery.Subscription{URL: s.URL, Format: delivery.Format(format), Topic: c.PublicURL}, calls))
	}
	p.delivery, err = delivery.Start(ctx, delivery.Options{
		Store: p.store, Receivers: receivers, Logger: o.Logger, Metrics: delivery.NewMetrics(o.Registry), LeaseTTL: c.LeaseTTL.Duration(),
		PollEvery: pollEventsEvery,
	})
	return err
}

// applications returns the webhook to the programs that hold conversations with respondents.
func (p *components) applications() delivery.Webhook {
	return delivery.Webhook{
		Name:  "surveys",
		Types: []string{surveybroker.MessageEvent, surveybroker.RespondentEvent},
		Wants: surveybroker.ForApplication,
		// An application that does not answer must not delay the others.
		Group:       surveybroker.SurveyOf,
		MaxDeferred: 100_000,
		Find: func(ctx context.Context, e events.Event) (delivery.Hook, error) {
			var about struct{ Survey string } // in events of both types
			if err := json.Unmarshal(e.Data, &about); err != nil {
				return delivery.Hook{}, errors.New("invalid event data")
			}
			s, err := p.store.Survey(ctx, about.Survey)
			if weir.CodeOf(err) == weir.CodeNotFound {
				return delivery.Hook{}, nil
			}
			return delivery.Hook{URL: s.Application.URL, Secret: s.Application.Secret}, err
		},
		Answered: func(ctx context.Context, e events.Event, body []byte) error {
			broker := p.surveysStarted.Load()
			if broker == nil {
				return errors.New("the surveys have not started")
			}
			return broker.ApplyResponse(ctx, e, body)
		},
	}
}
