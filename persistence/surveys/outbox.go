package surveys

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"time"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
	"weir/persistence/multirow"
	"weir/surveys"
)

var (
	_ surveys.Outbox    = (*Outbox)(nil)
	_ contacts.Observer = (*Outbox)(nil)
	_ commit.Part       = (*Outbox)(nil)
)

// Outbox holds what happened to contacts of surveys, until the survey broker has handled it.
// It observes the queue of contacts, and writes an entry in the transaction of what it
// reports.
type Outbox struct {
	*commit.DB
	onWritten atomic.Pointer[func()]
	args      []any // of the entries of the batch
	rows      int
}

// NewOutbox returns the outbox in a database.
func NewOutbox(db *commit.DB) *Outbox { return &Outbox{DB: db} }

const outboxColumns = "id, kind, at, channel_id, contact_id, survey_id, respondent_id, serial, outcome, reason, message"

// Begin implements [commit.Part].
func (s *Outbox) Begin() { s.args, s.rows = s.args[:0], 0 }

// Changed implements [contacts.Observer]. Contacts without a respondent need no entry.
func (s *Outbox) Changed(t *commit.Tx, transitions iter.Seq[*weir.Transition]) error {
	for tr := range transitions {
		c := &tr.Contact
		if c.Owner.ID == 0 {
			continue
		}
		for _, h := range occurrences(tr) {
			if h.at.IsZero() {
				h.at = t.Now
			}
			outcome, reason, details := "", "", outboxDetails{Turn: surveys.TurnOf(c)}
			if details.Turn != 0 && c.Attempt <= 1 { // of others the first claim is read when it matters
				details.Claimed = columns.Micros(c.ClaimedAt)
			}
			if h.kind != surveys.CallAnswered {
				details.Messages = c.AcceptedMessages()
			}
			if h.kind == surveys.ContactEnded {
				outcome, reason, details.Result = string(c.Outcome), columns.Clip(c.Reason), tr.Result
				details.Rule = people.Rule(c.Receipt.Rule)
			}
			// Of a reply only that the provider accepted it, once.
			if c.Owner.Serial == 0 && (details.Messages == 0 || !tr.Was.InFlight() || tr.Was == weir.Active) {
				continue
			}
			s.args = append(s.args, t.NextID(), string(h.kind), columns.Micros(h.at), int64(c.Channel), int64(c.ID),
				c.Owner.Group, c.Owner.ID, int64(c.Owner.Serial), outcome, reason, details.text())
			s.rows++
		}
	}
	return nil
}

// Flush implements [commit.Part].
func (s *Outbox) Flush(t *commit.Tx) error {
	if s.rows == 0 {
		return nil
	}
	_, err := multirow.InsertCounted(t, "INSERT INTO outbox ("+outboxColumns+") VALUES ", "", s.args, s.rows)
	return err
}

// Committed implements [commit.Part].
func (s *Outbox) Committed() {
	if s.rows > 0 {
		s.written()
	}
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
	Messages int         `json:"messages,omitempty"`
	Rule     people.Rule `json:"rule,omitempty"`    // by which it was suppressed
	Turn     int         `json:"turn,omitempty"`    // that the contact says
	Claimed  int64       `json:"claimed,omitempty"` // with a turn: when it was claimed, in µs
}

// text returns the JSON; empty without details.
func (d outboxDetails) text() string {
	if d == (outboxDetails{}) {
		return ""
	}
	text, _ := json.Marshal(d) //nolint:errchkjson // texts, numbers and an instant
	return string(text)
}

const outboxSQL = "SELECT " + outboxColumns + " FROM outbox WHERE id > ? ORDER BY id LIMIT ?"

// OnOutboxEntries implements [surveys.Outbox].
func (s *Outbox) OnOutboxEntries(committed func()) { s.onWritten.Store(&committed) }

// written calls the function of [Outbox.OnOutboxEntries].
func (s *Outbox) written() {
	if call := s.onWritten.Load(); call != nil {
		(*call)()
	}
}

// Received implements [contacts.Observer].
func (s *Outbox) Received(t *commit.Tx, channel weir.ChannelID, m *weir.Incoming) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.args = append(s.args, t.NextID(), string(surveys.MessageReceived), columns.Micros(m.ReceivedAt), int64(channel), 0, 0, 0, 0, "", "", string(text))
	s.rows++
	return nil
}

// OutboxEntries implements [surveys.Outbox].
func (s *Outbox) OutboxEntries(ctx context.Context, after int64, limit int) ([]surveys.OutboxEntry, error) {
	var rows []struct {
		ID         int64  `db:"id"`
		Kind       string `db:"kind"`
		At         int64  `db:"at"`
		Channel    int64  `db:"channel_id"`
		Contact    int64  `db:"contact_id"`
		Survey     int64  `db:"survey_id"`
		Respondent int64  `db:"respondent_id"`
		Serial     int    `db:"serial"`
		Outcome    string `db:"outcome"`
		Reason     string `db:"reason"`
		Message    string `db:"message"`
	}
	if err := s.Read.SelectContext(ctx, &rows, outboxSQL, after, limit); err != nil {
		return nil, s.Failure("read the outbox", err)
	}
	list := make([]surveys.OutboxEntry, 0, len(rows))
	for _, r := range rows {
		n := surveys.OutboxEntry{
			ID: r.ID, Kind: surveys.OutboxKind(r.Kind), At: columns.Instant(r.At), Channel: weir.ChannelID(r.Channel),
			Owner: weir.Owner{Group: r.Survey, ID: r.Respondent, Serial: r.Serial}, Outcome: weir.Outcome(r.Outcome), Reason: r.Reason,
		}
		if r.Contact != 0 {
			n.Contact = weir.Ref{Channel: n.Channel, ID: weir.ContactID(r.Contact)}
		}
		if r.Message != "" {
			var d outboxDetails
			var into any = &d
			if n.Kind == surveys.MessageReceived {
				into = &n.Message
			}
			if err := json.Unmarshal([]byte(r.Message), into); err != nil {
				return nil, s.Failure("read the outbox", err)
			}
			n.Result, n.Messages, n.Rule, n.Turn, n.Claimed = d.Result, d.Messages, d.Rule, d.Turn, columns.Instant(d.Claimed)
			n.Message.ReceivedAt = columns.Instant(columns.Micros(n.Message.ReceivedAt))
		}
		list = append(list, n)
	}
	return list, nil
}
