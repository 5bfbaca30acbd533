package demo

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"weir/client"
)

// traffic is what programs send to Weir without end: two surveys, one round after the other, and
// direct contacts. It stays bounded: nothing is sent to a channel with a long backlog, and
// surveys that are done are deleted.
type traffic struct {
	show     *demonstration
	began    time.Time
	serial   int                             // the numbers of people: a new person each time
	sent     int                             // direct contacts
	seconds  map[string]int                  // with direct contacts, by channel
	pending  map[string][]client.ContactBody // by channel: not answered by Weir yet
	rounds   int
	previous []string // the round before of each survey
	reached  []string // people whom a direct message has reached, the latest last
	despite  []string // people who wrote STOP on the panel: a contact follows once Weir knows
}

const (
	trafficEvery  = time.Second
	asksItself    = "The clinic" // the survey whose questions Weir asks
	roundPeople   = 120
	roundRate     = 60 // respondents a minute who are started, of each survey
	longBacklog   = 200
	alerts        = "alerts" // a purpose without rules
	waitsFor      = time.Minute
	refusedEvery  = 5 // seconds: a contact to a person who has refused
	cappedEvery   = 7 // seconds: a reminder beyond the cap
	maxReached    = 64
	floodContacts = 2000
	floodBatch    = 1000
	floodBacklog  = 4000 // no other flood beyond
)

// next returns a person who was never contacted. Numbers come again after ten million.
func (t *traffic) next() person {
	t.serial = (t.serial + 1) % 10_000_000
	return person{phone: fmt.Sprintf("+1555%07d", t.serial), name: "Ana", region: regions()[t.serial%len(regions())]}
}

// begin creates the purposes and launches the surveys.
func (t *traffic) begin(ctx context.Context) error {
	api := t.show.broker.api
	if _, err := api.PutPurpose(ctx, reminders, reminderRules(), client.PutPurposeParams{}); err != nil {
		return err
	}
	if _, err := api.PutPurpose(ctx, alerts, client.Purpose{Title: "Alerts"}, client.PutPurposeParams{}); err != nil {
		return err
	}
	for _, title := range []string{"Vaccines", "Clean water", asksItself} {
		sv, err := t.round(ctx, title)
		if err != nil {
			return err
		}
		t.show.surveys = append(t.show.surveys, sv)
		t.previous = append(t.previous, "")
	}
	return nil
}

// round launches the next round of a survey.
func (t *traffic) round(ctx context.Context, title string) (*survey, error) {
	t.rounds++
	sv := &survey{name: fmt.Sprintf("round-%d", t.rounds), title: title, calls: calls, texts: texts, asks: title == asksItself}
	for range roundPeople {
		sv.people = append(sv.people, t.next())
	}
	if sv.asks {
		t.show.talks.expect(sv.people)
	}
	return sv, t.show.launch(ctx, sv, roundRate)
}

// rotate launches another round of each survey that is done, and deletes the one before it.
func (t *traffic) rotate(ctx context.Context) error {
	for i, sv := range t.show.surveys {
		if sv.stats.State != "done" {
			continue
		}
		if t.previous[i] != "" {
			if err := t.show.broker.api.DeleteSurvey(ctx, t.previous[i]); err != nil && client.StatusOf(err) != http.StatusNotFound {
				return err
			}
			t.previous[i] = ""
		}
		if sv.asks && !sv.judged {
			a, err := t.show.judgeTalks(ctx, sv)
			if err != nil {
				return err
			}
			sv.judged = true
			t.show.record.conversed(a)
		}
		next, err := t.round(ctx, sv.title)
		if err != nil {
			return err
		}
		t.show.surveys[i], t.previous[i] = next, sv.name
		t.show.app.forget()
	}
	return nil
}

// step sends the direct contacts of a second.
func (t *traffic) step(ctx context.Context, now time.Time) error {
	for _, st := range t.show.stages {
		if st.figures.Queued < longBacklog && len(t.pending[st.name]) == 0 {
			t.compose(st.name, now)
		}
	}
	t.despite = slices.DeleteFunc(t.despite, func(number string) bool {
		if !t.show.refusals.refused(number) || len(t.pending[texts]) > 0 {
			return false
		}
		t.add(texts, client.ContactBody{To: number, Purpose: alerts, Priority: "high"})
		return true
	})
	if err := t.send(ctx, now); err != nil {
		return err
	}
	return t.rotate(ctx)
}

// add makes a contact of a channel that is sent with the next ones.
func (t *traffic) add(channel string, c client.ContactBody) {
	t.sent++
	c.Key = fmt.Sprintf("live-%d", t.sent)
	if channel == calls {
		c.Call = &client.CallBody{CallbackURL: t.show.app.url + announcePath}
	} else {
		c.Messages = []string{fmt.Sprintf("News no. %d. Answer STOP to get no more.", t.sent)}
	}
	t.pending[channel] = append(t.pending[channel], c)
}

// compose makes the next direct contacts of a channel. Some are for people who have refused, and
// some are reminders beyond the cap.
func (t *traffic) compose(channel string, now time.Time) {
	t.seconds[channel]++
	t.add(channel, client.ContactBody{To: t.next().phone, Purpose: alerts})
	if channel == calls {
		return
	}
	t.add(channel, client.ContactBody{To: t.next().phone, Purpose: reminders})
	if refused := t.show.refusals.latest(); refused != "" && t.seconds[channel]%refusedEvery == 0 {
		t.add(channel, client.ContactBody{To: "+" + refused, Purpose: alerts})
	}
	if n := len(t.reached); n > 0 && t.seconds[channel]%cappedEvery == 0 {
		t.add(channel, client.ContactBody{To: t.reached[n-1], Purpose: reminders, NotAfter: now.Add(waitsFor)})
	}
}

// send sends what is pending. Its keys make it safe to send it again when Weir did not answer.
func (t *traffic) send(ctx context.Context, now time.Time) error {
	for channel, all := range t.pending {
		for batch := range slices.Chunk(all, floodBatch) {
			list, err := t.show.broker.api.PostContacts(ctx, channel, client.ContactsBody{Contacts: batch})
			if err != nil {
				return err
			}
			var ids []string
			for _, c := range list.Contacts {
				ids = append(ids, c.ID)
			}
			t.show.record.accepted(channel, ids, now)
			t.pending[channel] = t.pending[channel][len(batch):]
		}
		delete(t.pending, channel)
	}
	return nil
}

// saw remembers whom direct messages have reached.
func (t *traffic) saw(done []client.ContactView) {
	for i := range done {
		if c := &done[i]; c.Channel == texts && c.Survey == "" && c.Outcome == "completed" && c.Purpose == reminders && !slices.Contains(t.reached, c.To) {
			t.reached = append(t.reached, c.To)
		}
	}
	if n := len(t.reached) - maxReached; n > 0 {
		t.reached = slices.Delete(t.reached, 0, n)
	}
}

// flood adds 2,000 messages at once.
func (t *traffic) flood() bool {
	for _, st := range t.show.stages {
		if st.name == texts && st.figures.Queued+len(t.pending[texts]) > floodBacklog-floodContacts {
			return false
		}
	}
	for range floodContacts {
		t.add(texts, client.ContactBody{To: t.next().phone, Purpose: alerts})
	}
	return true
}
