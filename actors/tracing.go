package actors

import (
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/internal/tracing"
)

// traceCall exports a call of a provider. begun is zero if it was not called.
func (b *broker) traceCall(f *channelSeries, operation string, a *channels.Attempt, begun time.Time, reason string, result func() (label string, failed bool)) {
	if b.tracing == nil {
		return
	}
	c := tracing.Call{Operation: operation, Channel: f.name, Type: f.typ, Attempt: a.ID, Trace: a.Trace, Begun: begun, Reason: reason}
	if operation == "send" {
		c.ClaimedAt = a.ClaimedAt
	}
	c.Result, c.Failed = result()
	b.tracing.Called(&c)
}

// traceDone exports the contacts that transitions ended, without the stale ones.
func (b *broker) traceDone(f *channelSeries, list []weir.Transition, stale []weir.ContactID) {
	if b.tracing == nil {
		return
	}
	for i := range list {
		if t := &list[i]; t.Contact.State == weir.Done && t.Was != weir.Done && !slices.Contains(stale, t.Contact.ID) {
			b.tracing.Done(&t.Contact, f.name, f.typ)
		}
	}
}
