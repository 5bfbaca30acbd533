package contacts

import (
	"cmp"
	"time"

	"weir"
	"weir/operators"
	"weir/people"
)

// brake decides when the channel pauses itself.
type brake struct {
	window *weir.BrakeWindow // counts the contacts that ended
	acted  *weir.Braked      // nil: it has not, or the channel's row shows it
}

// ended counts a contact that ended in flight.
func (b *brake) ended(contact *weir.Contact, o weir.Outcome, reason string) {
	address := ""
	if reason == weir.ReasonOptedOut {
		address = people.Canonical(contact.To)
	}
	b.window.Ended(o, reason, address)
}

// contacts notes whom a contact contacts. The answer to a message contacts whoever has written, and
// that may be a stranger; one of a survey goes to a respondent.
func (b *brake) contacts(contact *weir.Contact) {
	if b.window.BoundsOptOuts() && (contact.Priority != weir.Reply || contact.Survey != "") {
		b.window.Contacted(people.Canonical(contact.To))
	}
}

// optedOut counts a person who opted out.
func (b *brake) optedOut(address string) { b.window.OptedOut(people.Canonical(address)) }

// acts reports whether the brake acts now: what it counts has passed a bound. Nothing is
// claimed from then on, although the channel's row shows the pause only later.
func (b *brake) acts(now time.Time) bool {
	if b.acted != nil {
		return false
	}
	b.acted = b.window.Verdict(now)
	return b.acted != nil
}

// why explains that the channel has paused itself.
func (b *brake) why(ch weir.Channel) operators.Why {
	if b.acted != nil {
		ch.Paused, ch.Braked = true, b.acted
	}
	return operators.WhyBlocked(&ch)
}

// reason is what the brake acted on, of a channel that has paused itself.
func (b *brake) reason(ch *weir.Channel) string { return cmp.Or(b.acted, ch.Braked).Text }
