package daemon

import (
	"errors"
	"fmt"
	"time"

	"weir/config"
	"weir/internal/outbound"
)

// pollEventsEvery is how often receivers poll for events. The store announces them at their
// commit.
const pollEventsEvery = 30 * time.Second

// outboundPolicy returns the rules for the addresses that users configure for outbound calls.
func outboundPolicy(c config.Config) outbound.Policy {
	return outbound.Policy{
		AllowPlain: c.OutboundAllow.Plain(), AllowPrivate: c.OutboundAllow.Private(), AllowLoopback: c.CallsLoopback(), AllowHosts: c.OutboundAllow.Hosts(),
		Timeout: c.SendTimeout.Duration(),
	}
}

// webhookAnswer is how many bytes of a webhook's answer are read.
const webhookAnswer = 64 << 10

// webhookPolicy returns the rules for calls to webhooks.
func webhookPolicy(c config.Config) outbound.Policy {
	p := outboundPolicy(c)
	p.MaxBody = webhookAnswer
	return p
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
