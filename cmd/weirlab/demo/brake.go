package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/client"
)

// A brake at work: every second number of a list does not exist, and the channel pauses itself.
const (
	listed       = 160
	firstListed  = 9_000_000 // the numbers of the list
	listKey      = "list"    // the keys of its contacts begin so
	brakeOver    = 20
	brakeMinimum = 10
	brakePercent = 30
	settledFor   = time.Second // for so long nothing more may be sent
	brakePath    = "/v1/channels/" + texts
)

// braking is what a brake has done.
type braking struct {
	text   string // empty: it was not shown
	faults []string
}

// wrongList returns people of whom every second has a number that does not exist.
func wrongList(seed uint64) []person {
	good := sayers(seed, firstListed, listed/2, "1")
	list := make([]person, 0, listed)
	for i, p := range good {
		list = append(list, p, person{phone: fmt.Sprintf("+1555%05d%s", firstListed/100+i, noSuchNumber), name: "Cy", region: "west"})
	}
	return list
}

// brake sends a text to a list of which half the numbers do not exist, over a channel with a
// brake. It pauses itself; what it had in flight goes on, and nothing else is sent. Then the rest
// is canceled, and the channel resumed.
func (s *demonstration) brake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.pace().atLeast(courtesyLimit, courtesyLimit))
	defer cancel()
	api := s.broker.api
	s.say("Now a brake: the channel %s pauses itself if more than %d %% of its last %d contacts fail. Then a list of %d people, of whom every second number does not exist.", texts, brakePercent, brakeOver, listed)
	rules := map[string]any{"over": brakeOver, "minimum": brakeMinimum, "failed_percent": brakePercent}
	if _, err := api.PatchChannel(ctx, texts, client.ChannelPatch{Brake: rules}, client.PatchChannelParams{}); err != nil {
		return err
	}
	list := wrongList(s.options.Seed)
	if err := s.remind(ctx, listKey, "", list); err != nil {
		return err
	}
	braked, sent, err := s.awaitBrake(ctx, list)
	if err != nil {
		return err
	}
	contacts, err := api.contacts(ctx, texts)
	if err != nil {
		return err
	}
	s.braking = brakingOf(contacts, braked, sent, s.stageOf(texts).capacity)
	if _, err := api.CancelContacts(ctx, client.CancelBody{Channel: texts}); err != nil {
		return err
	}
	// Without its brake, which has done its work.
	if err := api.Do(ctx, client.Request{Method: http.MethodPatch, Path: brakePath, Body: map[string]any{"brake": nil, "paused": false}}, nil); err != nil {
		return err
	}
	s.say("The channel %s. The rest of the list is canceled, and the channel resumed: one more person gets a text.", braked.Text)
	if err := s.remind(ctx, "right", "", sayers(s.options.Seed, firstListed+listed*10, 1, "1")); err != nil {
		return err
	}
	return s.await(ctx, "the resumed channel", func() (bool, error) {
		open, err := api.moving(ctx)
		return !open, err
	})
}

// awaitBrake waits until the brake has acted, what was in flight has ended, and nothing follows.
// sent is how many people of the list have got a message then.
func (s *demonstration) awaitBrake(ctx context.Context, list []person) (braked client.Braked, sent int, err error) {
	err = s.await(ctx, "the brake", func() (bool, error) {
		ch, err := s.broker.api.GetChannel(ctx, texts)
		if err == nil && ch.Braked != nil {
			braked = *ch.Braked
		}
		return braked.Text != "", err
	})
	if err != nil {
		return braked, 0, err
	}
	quiet := time.Now()
	err = s.await(ctx, "what was in flight", func() (bool, error) {
		if n := s.listedSent(list); n != sent {
			quiet, sent = time.Now(), n
		}
		open, err := s.broker.api.holds(ctx, texts, "sending,active,unknown")
		return !open && time.Since(quiet) > settledFor, err
	})
	return braked, sent, err
}

// listedSent returns how many people of the list have got a message, by the provider's record.
func (s *demonstration) listedSent(list []person) (n int) {
	on := map[string]bool{}
	for _, p := range list {
		on[digits(p.phone)] = true
	}
	st := s.stageOf(texts)
	for _, k := range st.provider.tally.Keys(st.provider.line) {
		if on[digits(k.Address)] {
			n++
		}
	}
	return n
}

func (s *demonstration) stageOf(channel string) *stage {
	for _, st := range s.stages {
		if st.name == channel {
			return st
		}
	}
	return nil
}

// brakingOf judges what a brake has done: sent is how many of the list the provider has got a
// message for. Up to the capacity may have been in flight when it acted.
func brakingOf(contacts []client.ContactView, braked client.Braked, sent, capacity int) (b braking) {
	late, waiting := 0, 0
	for i := range contacts {
		c := &contacts[i]
		if !strings.HasPrefix(c.Key, listKey+"-") {
			continue
		}
		if len(c.Attempts) == 0 && c.Outcome == "" {
			waiting++
		}
		for _, a := range c.Attempts {
			if a.ClaimedAt.After(braked.At) {
				late++
			}
		}
	}
	after := sent - braked.Touched
	b.text = fmt.Sprintf("The channel %s %s, after %s. %s, in flight at that moment, went on; of the other %d people of the list the provider has no message.",
		texts, braked.Text, plural(braked.Touched, "contact", "contacts"), plural(max(0, after), "contact", "contacts"), waiting)
	if late > 0 {
		b.faults = append(b.faults, plural(late, "contact was", "contacts were")+" begun after the brake had paused "+texts)
	}
	if after > capacity {
		b.faults = append(b.faults, fmt.Sprintf("%d messages were sent after the brake had acted, and at most %d were in flight", after, capacity))
	}
	if sent+waiting != listed {
		b.faults = append(b.faults, fmt.Sprintf("of %d people of the list %d got a message and %d wait", listed, sent, waiting))
	}
	return b
}
