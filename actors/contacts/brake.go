package contacts

import (
	"time"

	"weir"
	"weir/operators"
	"weir/people"
)

// recordEnd counts a contact that ended in flight, for the channel's brake.
func (c *Core) recordEnd(f *flight, o weir.Outcome, reason string) {
	address := ""
	if reason == weir.ReasonOptedOut {
		address = people.Canonical(f.c.To)
	}
	c.brake.Ended(o, reason, address)
}

// whyBraked explains that the channel has paused itself.
func (c *Core) whyBraked() operators.Why {
	ch := c.ch
	if c.braking != nil {
		ch.Paused, ch.Braked = true, c.braking
	}
	return operators.WhyBlocked(&ch)
}

// OptedOut counts a person who opted out on this channel, for its brake.
func (c *Core) OptedOut(address string, now time.Time) {
	c.brake.OptedOut(people.Canonical(address))
	c.run(now)
}

// applyBrake stops the channel if what its brake counts has passed a bound. Nothing is
// claimed from then on, although the channel's row shows the pause only later.
func (c *Core) applyBrake(now time.Time) {
	if c.braking != nil || !c.deleteAt.IsZero() {
		return
	}
	if c.braking = c.brake.Verdict(now); c.braking != nil {
		c.out.Brake = c.braking
	}
}

// BrakeDone applies the channel's row after a brake: it is paused, unless an operator has
// removed the brake or paused the channel meanwhile.
func (c *Core) BrakeDone(ch weir.Channel, now time.Time) {
	c.braking = nil
	c.idleSince = now
	c.applyChannel(ch, now)
	c.run(now)
}
