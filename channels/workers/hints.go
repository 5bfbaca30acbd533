package workers

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"weir"
	"weir/channels"
	"weir/router/journal"
)

// Attempts returns, each once, the attempts whose contacts should soon learn of
// the given router events: that a worker accepted or gave back the job, or is done
// with it, or that it has ended.
func Attempts(events []journal.Event) []weir.AttemptRef {
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

// referenceOf returns the channel reference of an event that is relevant to a
// contact; empty for any other event.
func referenceOf(e journal.Event) string {
	switch e := e.(type) {
	case *journal.OfferAcceptedEvent:
		return e.ChannelReference
	case *journal.JobUnassignedEvent:
		return e.ChannelReference
	case *journal.JobCompletedEvent:
		return e.ChannelReference
	case *journal.JobClosedEvent:
		return e.ChannelReference
	case *journal.JobCancelledEvent:
		return e.ChannelReference
	case *journal.JobSchedulingFailedEvent:
		return e.ChannelReference
	}
	return ""
}

// Drivers returns the driver of a channel, as [channels.Directory] does.
type Drivers interface {
	Driver(c weir.Channel) (channels.Driver, error)
}

// Channels reads the row of a channel.
type Channels interface {
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
}

// Brokers accepts reports about the contacts of a channel, as the System of package actors/channels does.
type Brokers interface {
	Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error)
}

// Hints passes router events on to the brokers of the channels: for each event it
// asks the channel's driver about the attempt and reports the answer. The
// reconciler asks the same later and so finds what was lost; hints are therefore
// dropped rather than waited for.
type Hints struct {
	logger *slog.Logger
	queue  chan weir.AttemptRef
}

// run is Hints together with its receivers.
type run struct {
	*Hints
	channels Channels
	drivers  Drivers
	brokers  Brokers
}

// maxHints is the max number of waiting hints.
const maxHints = 10_000

// NewHints returns a Hints. Hints wait until Run is called: events must be heard
// from the router's start on, and the channels start after it.
func NewHints(logger *slog.Logger) *Hints {
	return &Hints{logger, make(chan weir.AttemptRef, maxHints)}
}

// Hear queues hints for durable events. It never waits.
func (h *Hints) Hear(events []journal.Event) {
	for _, a := range Attempts(events) {
		select {
		case h.queue <- a:
		default: // the reconciler will find it
		}
	}
}

// Run passes hints on until ctx ends.
func (h *Hints) Run(ctx context.Context, c Channels, d Drivers, b Brokers) {
	to := run{h, c, d, b}
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-h.queue:
			for channel, attempts := range h.waiting(a) {
				if err := to.carry(ctx, channel, attempts); err != nil && ctx.Err() == nil {
					h.logger.Warn("router events not applied; the contacts will be reconciled", "contacts", len(attempts), "error", err)
				}
			}
		}
	}
}

// waiting takes first and the hints that are waiting, grouped by channel.
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
		return nil // a job of another origin with our kind of reference
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
		answer := d.Query(ctx, channels.Attempt{ID: a})
		switch answer.Status {
		case channels.Finished:
			reports = append(reports, answer.Reports...)
		case channels.Underway:
			reports = append(reports, weir.Report{Attempt: a, Part: weir.WholeContact, ProviderRef: answer.ProviderRef})
		default: // the job or the router is gone: the reconciler will decide
		}
	}
	if len(reports) == 0 {
		return nil
	}
	_, err = h.brokers.Report(ctx, id, reports)
	return err
}
