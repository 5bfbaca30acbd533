package persistence

import (
	"context"
	"time"

	"weir"
)

// request is what one caller wants written: one of specs, change and item.
type request struct {
	ctx     context.Context // of one who waits; nil: the request is kept, come what may
	channel weir.ChannelID
	specs   []weir.Spec
	change  *weir.Change
	item    *weir.InboxItem
	rows    int
	bytes   int
	answer  func(outcome)

	// Given at the first try and kept, so that ids are in the order of commits
	// and a repeated try repeats the same.
	ids []int64
	at  time.Time

	outcome outcome // of the latest try
}

// outcome is the answer to a request.
type outcome struct {
	accepted []weir.Accepted
	stale    []weir.ContactID
	err      error
}

func newAcceptance(ctx context.Context, channel weir.ChannelID, specs []weir.Spec, answer func(outcome)) *request {
	r := &request{ctx: ctx, channel: channel, specs: specs, rows: len(specs), answer: answer}
	for i := range specs {
		r.bytes += specBytes(&specs[i])
	}
	return r
}

func newChange(c weir.Change, answer func(outcome)) *request {
	r := &request{channel: c.Lease.Channel, change: &c, rows: len(c.Transitions), answer: answer}
	for i := range c.Transitions {
		p := &c.Transitions[i].Contact.Progress
		r.bytes += 250 + len(p.ProviderRef) + len(p.Parts) + len(p.Reason)
	}
	return r
}

func newDelivery(ctx context.Context, item weir.InboxItem, answer func(outcome)) *request {
	return &request{ctx: ctx, channel: item.Channel, item: &item, rows: 1, bytes: 100 + len(item.Payload), answer: answer}
}

// batch is what one transaction writes.
type batch struct {
	requests []*request
	number   int64
	doubt    bool // COMMIT was sent, and what came of it is not known
	careful  bool // a revision was stale: read before writing
}

// newBatch takes the longest run from the front of the queue that fits into
// one transaction, and says how many requests that are.
func newBatch(queue []*request) (*batch, int) {
	rows, bytes := 0, 0
	revisions := map[weir.Ref]int64{}
	for i, r := range queue {
		rows, bytes = rows+r.rows, bytes+r.bytes
		if i > 0 && (rows > maxRows || bytes > maxBytes || !r.chains(revisions)) {
			return &batch{requests: append([]*request(nil), queue[:i]...)}, i
		}
		r.note(revisions)
	}
	return &batch{requests: append([]*request(nil), queue...)}, len(queue)
}

// chains tells whether each transition of a contact that the batch already
// changes replaces the revision that the batch leaves. Two that do not chain
// have to be judged one after the other.
func (r *request) chains(revisions map[weir.Ref]int64) bool {
	if r.change == nil {
		return true
	}
	for i := range r.change.Transitions {
		t := &r.change.Transitions[i]
		if rev, ok := revisions[t.Contact.Ref]; ok && rev != t.From {
			return false
		}
	}
	return true
}

func (r *request) note(revisions map[weir.Ref]int64) {
	if r.change == nil {
		return
	}
	for i := range r.change.Transitions {
		t := &r.change.Transitions[i]
		revisions[t.Contact.Ref] = t.Contact.Rev
	}
}

func (b *batch) rows() int {
	n := 0
	for _, r := range b.requests {
		n += r.rows
	}
	return n
}

// dropAbandoned removes requests whose caller has gone. It leaves a batch in
// doubt as it is: it may have been committed.
func (b *batch) dropAbandoned() {
	if b.doubt {
		return
	}
	kept := b.requests[:0]
	for _, r := range b.requests {
		if r.ctx != nil && r.ctx.Err() != nil {
			r.answer(outcome{err: unavailable("the request ended before it was stored", r.ctx.Err())})
			continue
		}
		kept = append(kept, r)
	}
	clear(b.requests[len(kept):])
	b.requests = kept
}

func (b *batch) answer() {
	for _, r := range b.requests {
		r.answer(r.outcome)
	}
}

func (b *batch) fail(err error) {
	for _, r := range b.requests {
		r.answer(outcome{err: err})
	}
}
