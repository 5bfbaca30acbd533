package contacts

import (
	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/multirow"
)

// scratch is the memory that the arguments of one statement after the other use.
type scratch struct{ args []any }

// empty returns it without arguments.
func (s *scratch) empty() []any { return s.args[:0] }

// keep lets the next statement use the memory of arguments, without their values.
func (s *scratch) keep(args []any) {
	clear(args)
	s.args = args[:0]
}

// insertWaiting inserts the rows of contacts that are queued or delayed.
func insertWaiting(t *commit.Tx, list []*weir.Contact) {
	var queued, delayed, expiring []any
	for _, c := range list {
		var progress any
		if p := encodeWaiting(&c.Progress); p != nil {
			progress = p
		}
		if c.State == weir.Queued {
			queued = append(queued, int64(c.Channel), int64(c.Lane()), int64(c.ID), c.Rev, int64(c.Size()), progress)
		} else {
			delayed = append(delayed, int64(c.Channel), int64(c.ID), columns.Micros(c.DueAt), c.Rev, progress)
		}
		if !c.NotAfter.IsZero() {
			expiring = append(expiring, int64(c.Channel), columns.Micros(c.NotAfter), int64(c.ID))
		}
	}
	for _, in := range []struct {
		into  string
		width int
		args  []any
	}{
		{"contacts_queued (channel_id, lane, id, rev, size, progress)", 6, queued},
		{"contacts_delayed (channel_id, id, due_at, rev, progress)", 5, delayed},
		{"contacts_expiring (channel_id, expire_at, id)", 3, expiring},
	} {
		multirow.Insert(t, in.into, columns.Marks(in.width), in.args, len(in.args)/in.width)
	}
}

// leaveQueue returns what deletes the rows of contacts that waited. Claims are last, because
// a batch that has any has many.
func leaveQueue(t *commit.Tx, steps []step) []commit.Guarded {
	var queued, delayed, expiring []multirow.Key
	for i := range steps {
		tr := steps[i].first
		c := &tr.Contact
		switch tr.Was {
		case weir.Queued:
			queued = append(queued, multirow.Key{int64(c.Channel), int64(c.Lane()), tr.From, int64(c.ID)})
		case weir.Delayed:
			delayed = append(delayed, multirow.Key{int64(c.Channel), tr.From, 0, int64(c.ID)})
		default:
			continue
		}
		if !c.NotAfter.IsZero() {
			expiring = append(expiring, multirow.Key{int64(c.Channel), columns.Micros(c.NotAfter), 0, int64(c.ID)})
		}
	}
	multirow.Delete(t, "contacts_expiring", []string{"channel_id", "expire_at"}, expiring)
	return append(multirow.Deletes(t, "contacts_delayed", []string{"channel_id", "rev"}, delayed),
		multirow.Deletes(t, "contacts_queued", []string{"channel_id", "lane", "rev"}, queued)...)
}

// enterQueue inserts the rows of contacts that wait again.
func enterQueue(t *commit.Tx, steps []step) error {
	var list []*weir.Contact
	for i := range steps {
		if c := &steps[i].last.Contact; c.State.Waiting() {
			list = append(list, c)
		}
	}
	insertWaiting(t, list)
	return nil
}

const (
	endColumns  = "finished_at, rev, outcome, reason, progress"
	doneColumns = "channel_id, id, " + endColumns
	doneWidth   = 7
)

// appendEnd appends the values of endColumns.
func appendEnd(args []any, p *weir.Progress) []any {
	return append(args, columns.Micros(p.FinishedAt), p.Rev, string(p.Outcome), columns.Clip(p.Reason), EncodeProgress(*p))
}

// amend returns what corrects contacts that were done before. There are few.
func amend(steps []step) (list []commit.Guarded) {
	for i := range steps {
		s := &steps[i]
		if s.first.Was != weir.Done {
			continue
		}
		args := appendEnd(nil, &s.last.Contact.Progress)[1:] // when it ended stays
		list = append(list, commit.Guarded{Rows: 1, Text: amendSQL, Args: append(args, int64(s.ref().Channel), int64(s.ref().ID), s.first.From)})
	}
	return list
}

const amendSQL = "UPDATE contacts_done SET rev = ?, outcome = ?, reason = ?, progress = ? WHERE channel_id = ? AND id = ? AND rev = ?"

// archive keeps the attempts that ended while their contacts continue.
func archive(t *commit.Tx, steps []step) error {
	const width, receiptWidth = 10, 4
	var args, receipts []any
	for _, s := range steps {
		for _, tr := range s.parts {
			a := tr.Ended
			if a == nil {
				continue
			}
			ref := tr.Contact.Ref
			args = append(args, int64(ref.Channel), int64(ref.ID), a.Number, columns.Micros(a.ClaimedAt), columns.Micros(a.SentAt),
				columns.Micros(a.HeardAt), columns.Micros(a.FinishedAt), columns.Clip(a.ProviderRef), string(a.Outcome), columns.Clip(a.Reason))
			if a.Receipt.Facts != "" {
				receipts = append(receipts, int64(ref.Channel), int64(ref.ID), a.Number, a.Receipt.Facts)
			}
		}
	}
	if len(args) == 0 {
		return nil
	}
	t.AddOnce("INSERT INTO attempts (channel_id, contact_id, number, claimed_at, sent_at, heard_at, finished_at, "+
		"provider_ref, outcome, reason) VALUES "+columns.RowsOf(len(args)/width, width), args...)
	multirow.Insert(t, "attempt_receipts (channel_id, contact_id, number, facts)", columns.Marks(receiptWidth), receipts, len(receipts)/receiptWidth)
	return nil
}
