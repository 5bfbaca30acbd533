package persistence

import (
	"context"
	"time"

	"weir"
)

// work is a part of a request other than contacts. It is done before
// contacts are accepted and changed, in the same transaction.
type work interface {
	// write does it. It may be called again for another try, and then does the
	// same from the start. An error is the database's; a refusal is set in the
	// request's outcome, and nothing is written.
	write(t *transaction, r *request) error
}

// enqueuer is a work that enqueues contacts as well.
type enqueuer interface {
	// channels lists the channels whose state it needs.
	channels() []weir.ChannelID
}

// request is a write of one caller: one of specs, change, item and work.
type request struct {
	ctx     context.Context // of a waiting caller; nil: the request is kept until it is written
	channel weir.ChannelID
	specs   []weir.Spec
	change  *weir.Change
	item    *weir.InboxItem
	work    work
	rows    int
	bytes   int
	answer  func(outcome)
	until   time.Time // until then it may wait for others; zero: not at all

	// Given at the first try and kept, so that ids are in the order of commits
	// and a repeated try repeats the same.
	ids []int64
	at  time.Time

	outcome outcome // of the latest try
	// refusal is set where a try found that keys are in use for other contacts:
	// the batch is rolled back and repeated without the request.
	refusal *weir.Error
}

// outcome is the result of a request.
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
	if canWait(&c) {
		r.until = time.Now().Add(maxDelay)
	}
	return r
}

// maxDelay is how long a change without a waiting caller may wait for others, with
// which it costs next to nothing. It is shorter than what follows it: a provider
// seldom reports in that time, and its report is one to go with.
const maxDelay = 5 * time.Millisecond

// canWait reports whether a change only records that providers have accepted
// contacts. A caller that waits for it all the same, because a provider reported the
// contact before it answered, waits a moment longer.
func canWait(c *weir.Change) bool {
	for i := range c.Transitions {
		if t := &c.Transitions[i]; t.Was != weir.Sending || t.Contact.State != weir.Active {
			return false
		}
	}
	return len(c.Transitions) > 0 && len(c.InboxDone) == 0
}

func newDelivery(ctx context.Context, item weir.InboxItem, answer func(outcome)) *request {
	return &request{ctx: ctx, channel: item.Channel, item: &item, rows: 1, bytes: 100 + len(item.Payload), answer: answer}
}

func newWork(ctx context.Context, w work, rows, bytes int, answer func(outcome)) *request {
	return &request{ctx: ctx, work: w, rows: rows, bytes: bytes, answer: answer}
}

// batch is the set of requests that one transaction writes.
type batch struct {
	requests  []*request
	number    int64
	inDoubt   bool // COMMIT was sent, and its result is unknown
	verify    bool // an optimistic try failed
	outbox    bool // the latest try brought notices
	announced bool // the latest try brought events

	optimistic bool    // the latest try was
	wrote      landing // by the latest try
}

// newBatch takes the longest run from the front of the queue that fits into
// one transaction, and returns how many requests that are.
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

// chains reports whether each transition of a contact that the batch already
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

// channels lists the channels whose state a request needs.
func (r *request) channels() []weir.ChannelID {
	if e, ok := r.work.(enqueuer); ok {
		return e.channels()
	}
	if r.work != nil || r.item != nil {
		return nil
	}
	return []weir.ChannelID{r.channel}
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
	if b.inDoubt {
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
