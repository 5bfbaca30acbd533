package workers

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"weir"
	"weir/channels"
	"weir/routing"
)

// Attempts names the attempts of which events of the router say something that
// their contacts should hear soon, each once: that a worker took or gave back
// the job, is done with it, or that it has ended.
func Attempts(events []routing.Event) []weir.AttemptRef {
	var out []weir.AttemptRef
	seen := map[weir.AttemptRef]bool{}
	for _, e := range events {
		text, ours := strings.CutPrefix(referenceOf(e), referencePrefix)
		if !ours {
			continue
		}
		if a, err := weir.ParseAttemptRef(text); err == nil && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// referenceOf is the channel reference of an event that a contact should hear
// of; empty of any other.
func referenceOf(e routing.Event) string {
	switch e := e.(type) {
	case *routing.OfferAcceptedEvent:
		return e.ChannelReference
	case *routing.JobUnassignedEvent:
		return e.ChannelReference
	case *routing.JobCompletedEvent:
		return e.ChannelReference
	case *routing.JobClosedEvent:
		return e.ChannelReference
	case *routing.JobCancelledEvent:
		return e.ChannelReference
	case *routing.JobSchedulingFailedEvent:
		return e.ChannelReference
	}
	return ""
}

// Drivers gives the driver of a channel, as [channels.Directory] does.
type Drivers interface {
	Driver(c weir.Channel) (channels.Driver, error)
}

// Channels reads the row of a channel.
type Channels interface {
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
}

// Brokers takes reports about the contacts of a channel, as actors.System does.
type Brokers interface {
	Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error)
}

// Hints carries what happens in the router to the brokers of the channels: an
// event makes it ask the channel's driver about the attempt, and report what
// that says. What is lost on the way is found by the collector, which asks the
// same; so hints are dropped rather than waited for.
type Hints struct {
	logger *slog.Logger
	queue  chan weir.AttemptRef
}

// run is a carrier with those to whom it carries.
type run struct {
	*Hints
	channels Channels
	drivers  Drivers
	brokers  Brokers
}

// mostHints is how many hints wait at most.
const mostHints = 10_000

// NewHints makes a carrier. What it hears waits until Run is called: a router
// has to be heard from its start on, and the channels come after it.
func NewHints(logger *slog.Logger) *Hints {
	return &Hints{logger, make(chan weir.AttemptRef, mostHints)}
}

// Hear takes events that are durable. It never waits.
func (h *Hints) Hear(events []routing.Event) {
	for _, a := range Attempts(events) {
		select {
		case h.queue <- a:
		default: // the collector will find it
		}
	}
}

// Run carries hints until ctx ends.
func (h *Hints) Run(ctx context.Context, c Channels, d Drivers, b Brokers) {
	to := run{h, c, d, b}
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-h.queue:
			for channel, attempts := range h.waiting(a) {
				if err := to.carry(ctx, channel, attempts); err != nil && ctx.Err() == nil {
					h.logger.Warn("what the router said of contacts was not passed on; they will be asked about", "contacts", len(attempts), "error", err)
				}
			}
		}
	}
}

// waiting takes what waits, by channel.
func (h *Hints) waiting(first weir.AttemptRef) map[weir.ChannelID][]weir.AttemptRef {
	const most = 500
	out := map[weir.ChannelID][]weir.AttemptRef{first.Channel: {first}}
	for range most {
		select {
		case a := <-h.queue:
			if !slices.Contains(out[a.Channel], a) {
				out[a.Channel] = append(out[a.Channel], a)
			}
		default:
			return out
		}
	}
	return out
}

func (h *run) carry(ctx context.Context, id weir.ChannelID, attempts []weir.AttemptRef) error {
	c, err := h.channels.ChannelByID(ctx, id)
	if weir.CodeOf(err) == weir.CodeNotFound || err == nil && c.Type != Name {
		return nil // somebody else's job with our kind of reference
	}
	if err != nil {
		return err
	}
	d, err := h.drivers.Driver(c)
	if err != nil {
		return err
	}
	var reports []weir.Report
	for _, a := range attempts {
		answer := d.Ask(ctx, channels.Attempt{ID: a})
		switch answer.Knowledge {
		case channels.Over:
			reports = append(reports, answer.Reports...)
		case channels.Underway:
			reports = append(reports, weir.Report{Attempt: a, Part: weir.WholeContact, ProviderRef: answer.ProviderRef})
		default: // it is gone, or the router is: the collector will judge
		}
	}
	if len(reports) == 0 {
		return nil
	}
	_, err = h.brokers.Report(ctx, id, reports)
	return err
}
