package queue

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/ops"
	"weir/persistence/bulk"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/eventlog"
	"weir/persistence/values"
	"weir/surveys"
)

// part accumulates the rows and counters of one batch.
type part struct {
	contacts *Reader // and the contacts in flight, as they were committed last
	log      *eventlog.Log
	outbox   *Outbox

	accepted []Insertion
	changes  []*change
	counts   map[weir.ChannelID]delta
	landing  landing
	outboxed bool  // there are entries for the survey broker
	scratch  []any // Arguments of the statement before
}

// delta is by how much the counters of a channel change.
type delta struct{ queued, inFlight int64 }

// Part writes what the contacts of batches add up to.
func (s *Queue) Part() commit.Part { return s.part }

// InsertContacts inserts contacts in the batch of a work of another package, and
// reports the result of each.
func (s *Queue) InsertContacts(t *commit.Tx, list []Insertion) error {
	return s.part.insertContacts(t, list)
}

// Begin implements [commit.Part].
func (p *part) Begin() {
	*p = part{contacts: p.contacts, log: p.log, outbox: p.outbox, counts: map[weir.ChannelID]delta{}, scratch: p.scratch}
}

// Flush implements [commit.Part].
func (p *part) Flush(t *commit.Tx) error {
	if err := p.insertContacts(t, p.accepted); err != nil {
		return err
	}
	for _, step := range []func(*commit.Tx) error{p.change, p.dropFlights, p.count} {
		if err := step(t); err != nil {
			return err
		}
	}
	return nil
}

// Committed implements [commit.Part].
func (p *part) Committed() {
	p.contacts.flights.committed(&p.landing)
	if p.outboxed {
		p.outbox.written()
	}
}

// count adds to the counters of channels.
func (p *part) count(t *commit.Tx) error {
	var args []any
	for _, channel := range slices.Sorted(maps.Keys(p.counts)) {
		if d := p.counts[channel]; d != (delta{}) {
			args = append(args, int64(channel), d.queued, d.inFlight)
		}
	}
	if len(args) > 0 {
		t.Add("INSERT INTO channel_counts (channel_id, queued, in_flight) VALUES "+values.RowsOf(len(args)/3, 3)+p.contacts.Dialect.AddCounts, args...)
	}
	return nil
}

const outboxColumns = "id, kind, at, channel_id, contact_id, survey_id, respondent_id, serial, outcome, reason, message"

// insertOutbox inserts outbox entries of the steps for the survey broker. Contacts without a
// respondent need none.
func (p *part) insertOutbox(t *commit.Tx, steps []step) error {
	var args []any
	rows := 0
	for _, s := range steps {
		if s.last.Contact.For.ID == 0 {
			continue
		}
		for _, tr := range s.parts {
			c := &tr.Contact
			for _, h := range occurrences(tr.Transition) {
				if h.at.IsZero() {
					h.at = t.Now
				}
				outcome, reason, details := "", "", outboxDetails{}
				if h.kind != surveys.CallAnswered {
					details.Messages = c.AcceptedMessages()
				}
				if h.kind == surveys.ContactEnded {
					outcome, reason, details.Result = string(c.Outcome), values.Clip(c.Reason), tr.Result
				}
				// Of a reply only that the provider accepted it, once.
				if c.For.Serial == 0 && (details.Messages == 0 || !tr.Was.InFlight() || tr.Was == weir.Active) {
					continue
				}
				args = append(args, t.NextID(), string(h.kind), values.Micros(h.at), int64(c.Channel), int64(c.ID),
					c.For.Survey, c.For.ID, int64(c.For.Serial), outcome, reason, details.text())
				rows++
			}
		}
	}
	if rows == 0 {
		return nil
	}
	p.outboxed = true
	_, err := bulk.InsertCounted(t, "INSERT INTO outbox ("+outboxColumns+") VALUES ", "", args, rows)
	return err
}

// occurrence is something that happened to a contact.
type occurrence struct {
	kind surveys.OutboxKind
	at   time.Time
}

// occurrences lists what a transition means to a respondent, in order.
func occurrences(tr *weir.Transition) (list []occurrence) {
	is := &tr.Contact
	if is.State == weir.Active && tr.Was != weir.Active {
		list = append(list, occurrence{surveys.ContactAccepted, is.SentAt})
	}
	if tr.Answered {
		list = append(list, occurrence{surveys.CallAnswered, is.HeardAt})
	}
	if is.State == weir.Done && tr.Was != weir.Done {
		list = append(list, occurrence{surveys.ContactEnded, is.FinishedAt})
	}
	return list
}

// outboxDetails are the details of an outbox entry of a contact, stored as JSON.
type outboxDetails struct {
	weir.Result
	Messages int `json:"messages,omitempty"`
}

// text returns the JSON; empty without details.
func (d outboxDetails) text() string {
	if d == (outboxDetails{}) {
		return ""
	}
	text, _ := json.Marshal(d) //nolint:errchkjson // texts, numbers and an instant
	return string(text)
}

// insertDeadLetters makes dead letters of the contacts whose end leaves one, in the
// transaction of that end. Contacts that end well cost nothing.
func (p *part) insertDeadLetters(t *commit.Tx, steps []step) error {
	var args []any
	var raised map[weir.ChannelID][]any // reported as delivered after all
	for _, s := range steps {
		c := &s.last.Contact
		switch was := s.first.Was == weir.Done; {
		case c.State != weir.Done:
		case !was && c.Dead():
			args = append(args, int64(c.Channel), t.NextID(), int64(c.ID), string(c.Outcome), ops.GroupReason(c.Reason))
		case was && !c.Dead():
			if raised == nil {
				raised = map[weir.ChannelID][]any{}
			}
			raised[c.Channel] = append(raised[c.Channel], int64(c.ID))
		}
	}
	for channel, ids := range raised {
		t.AddOnce(dropDead(&p.contacts.Dialect, len(ids)), append([]any{int64(channel)}, ids...)...)
	}
	if len(args) == 0 {
		return nil
	}
	_, err := bulk.InsertCounted(t, "INSERT INTO dead_letters (channel_id, id, contact_id, outcome, reason) VALUES ", "", args, len(args)/5)
	return err
}

func dropDead(d *dialect.Statements, n int) string {
	return "DELETE FROM dead_letters" + d.By("dead_letters_contact") + " WHERE channel_id = ? AND contact_id IN " + values.Marks(n)
}
