package demo

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"weir/client"
)

const (
	stepEvery = 500 * time.Millisecond
	// seenAgain is by how much lists of contacts that are done overlap: the instant of an end is
	// earlier than its commit.
	seenAgain   = 20 * time.Second
	forgetEvery = 30 * time.Second
)

// Serve runs live traffic through Weir, with a panel on which a person breaks things and sees the
// record of proof, until the context ends. Then it shows the record. The error is nil only if
// nothing was doubled or lost, no capacity was exceeded and nobody was contacted after STOP.
func Serve(ctx context.Context, o Options) (err error) {
	s := newDemonstration(o)
	s.seen = time.Now()
	s.record = newRecord(s.refusals, s.talks, o.channels())
	s.traffic = &traffic{show: s, began: time.Now(), pending: map[string][]client.ContactBody{}, seconds: map[string]int{}}
	defer func() { err = s.endServed(ctx, err) }()
	if err := s.setUp(ctx); err != nil {
		return err
	}
	if s.panel, err = startPanel(ctx, s.broker.URL, s.breakages()); err != nil {
		return err
	}
	if err := s.traffic.begin(ctx); err != nil {
		return err
	}
	s.participate(ctx)
	s.invite()
	return s.live(ctx)
}

// invite names the addresses.
func (s *demonstration) invite() {
	s.view.plain("",
		"  Dashboard  "+s.broker.URL+"/login", "  Token      "+s.broker.api.token, "  Panel      "+s.panel.url, "",
		"Log in with the token. It has every scope, and ends with this command: keep it to yourself.",
		"On the panel, break things and watch the record of proof. Ctrl-C ends everything.", "")
}

// report says a sentence here and on the panel.
func (s *demonstration) report(format string, args ...any) {
	s.say(format, args...)
	s.panel.note(time.Now(), sentence(format, args...))
}

// live is the loop of the live traffic.
func (s *demonstration) live(ctx context.Context) error {
	var sent, forgot time.Time
	for {
		now := time.Now()
		if err := s.mend(now); err != nil {
			return err
		}
		s.poll(ctx)
		if now.Sub(sent) >= trafficEvery {
			sent = now
			s.trouble(ctx, errors.Join(s.traffic.step(ctx, now), s.prove(ctx, now)))
		}
		if now.Sub(forgot) >= forgetEvery {
			forgot = now
			s.forget(now)
		}
		s.view.draw(now, s.gauges())
		s.panel.show(s.state(now))
		select {
		case <-ctx.Done():
			return nil
		case <-s.broker.Ended:
			return s.broker.EndedBy()
		case b := <-s.panel.chosen:
			if err := b.run(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		case <-time.After(stepEvery):
		}
	}
}

// trouble notes what Weir has refused; the traffic goes on.
func (s *demonstration) trouble(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		s.troubled = ""
		return
	}
	if text := err.Error(); text != s.troubled {
		s.troubled = text
		s.report("Not done, and tried again: %s.", text)
	}
}

// prove judges what has ended since it was last looked at.
func (s *demonstration) prove(ctx context.Context, now time.Time) error {
	done, latest, err := s.listDone(ctx)
	more, gone, askErr := s.ask(ctx, now)
	done = append(done, more...)
	for _, st := range s.stages { // after the lists: what Weir calls done has to be there
		p := st.provider
		s.record.observed(st.name, p.tally.Line(p.line), p.tally.Keys(p.line), st.figures.Queued+st.figures.Sending+st.figures.Active+st.figures.Unknown)
	}
	s.record.judge(done, now)
	for _, id := range gone {
		s.record.unknown(id, now)
	}
	s.traffic.saw(done)
	if err == nil {
		s.seen = latest
		s.record.read(now)
	}
	return errors.Join(err, askErr)
}

// listDone lists the contacts that have ended lately, and the latest end.
func (s *demonstration) listDone(ctx context.Context) (done []client.ContactView, latest time.Time, err error) {
	latest = s.seen
	for c, err := range s.broker.api.Contacts(ctx, client.ListContactsParams{FinishedAfter: s.seen.Add(-seenAgain)}) {
		if err != nil {
			return nil, latest, err
		}
		done = append(done, c)
		if c.FinishedAt.After(latest) {
			latest = c.FinishedAt
		}
	}
	return done, latest, nil
}

// ask asks Weir about the contacts that are in doubt, one by one.
func (s *demonstration) ask(ctx context.Context, now time.Time) (found []client.ContactView, gone []string, err error) {
	for _, id := range s.record.doubtful(now) {
		c, err := s.broker.api.GetContact(ctx, id)
		switch {
		case client.StatusOf(err) == http.StatusNotFound:
			gone = append(gone, id)
		case err != nil:
			return found, gone, err
		default:
			found = append(found, *c)
		}
	}
	return found, gone, nil
}

// forget drops what is not needed any more, so that hours take no more memory than minutes.
func (s *demonstration) forget(now time.Time) {
	for _, st := range s.stages {
		s.record.forget(st.provider.tally, st.provider.line, now)
		st.provider.forget()
	}
}

// state returns what the panel shows.
func (s *demonstration) state(now time.Time) state {
	out := state{Proof: s.record.proof(now), Restarts: s.restarts, Since: s.traffic.began, At: now}
	for _, st := range s.stages {
		out.Providers = append(out.Providers, providerState{st.channel.provider, st.name, st.outage.words(now), st.figures.InFlight, st.capacity, st.figures.Queued})
	}
	return out
}

// endServed takes everything down, and shows the record.
func (s *demonstration) endServed(ctx context.Context, err error) error {
	if s.panel == nil || err != nil {
		if s.panel != nil {
			s.panel.stop()
		}
		return s.close(ctx, err)
	}
	s.panel.stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), pollTimeout)
	defer cancel()
	now := time.Now()
	_ = s.prove(last, now) // if Weir does not answer now, the record is as of a moment ago
	p, open := s.record.proof(now), 0
	for _, c := range p.Channels {
		open += c.Accepted - c.Done
	}
	s.view.plain("", s.view.bold("Record of proof"), "")
	s.view.plain(p.table()...)
	s.view.plain("")
	s.view.plain(wrap(sentence("Weir was killed and started again %s. %s refused by STOP; %s reached them after that. %s not done when this ended.",
		times(s.restarts), plural(p.Refused, "person", "people"), plural(p.Breached, "contact", "contacts"), plural(open, "contact was", "contacts were")), min(s.view.columns(), widest))...)
	s.view.plain(wrap(p.Asked.text(), min(s.view.columns(), widest))...)
	s.view.plain("")
	if len(p.Faults) == 0 {
		s.view.plain(s.view.verdict(true, "PASS: nothing lost, nothing sent twice, never over capacity, nobody contacted after STOP, no question asked twice or skipped, no answer lost."))
	} else {
		err = errors.New("the record has faults: " + strings.Join(p.Faults, "; "))
		s.view.plain(s.view.verdict(false, "FAIL: "+strings.Join(p.Faults, "; ")+"."))
	}
	return s.close(context.WithoutCancel(ctx), err)
}
