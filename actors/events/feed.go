package events

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"weir/events"
)

// Bounds of the feed.
const (
	feedEvents = 4096
	feedBytes  = 8 << 20
	// maxCatchUps is how many webhooks read the log for themselves at once.
	maxCatchUps = 4
)

// feed reads the log once for all webhooks. It keeps the latest events that any of them
// wants; a webhook that has fallen further behind reads the log itself.
type feed struct {
	store    Store
	log      *slog.Logger
	catchUps chan struct{} // one token for each webhook that reads the log

	mu    sync.Mutex
	types []string // of all webhooks together
	first int64    // the list has all wanted events after it, up to pos
	begun bool     // pos was read from the store; 0 is the position of an empty log
	pos   int64    // position up to which the log was read
	list  []fed
	bytes int
	subs  map[*subscription]bool
	// held: nothing is read, because the list is full and no webhook has got beyond its
	// middle. It ends when one has.
	held   bool
	resume chan struct{}
}

// fed is an event in memory.
type fed struct {
	events.Event
	scope *events.Scope // nil: it was not needed yet
}

// wantsEvent reports whether a webhook gets an event.
func wantsEvent(w *events.Webhook, e *fed) bool {
	if !w.WantsType(e.Type) {
		return false
	}
	if w.Channel == "" && w.Survey == "" {
		return true
	}
	if e.scope == nil {
		scope := events.ScopeOf(&e.Event)
		e.scope = &scope
	}
	return w.WantsScope(*e.scope)
}

// subscription is the part of the feed that one webhook gets.
type subscription struct {
	types []string
	wants func(*fed) bool
	wake  chan struct{}
	from  int64 // how far it has read
	clear int64 // between from and here it wants nothing
}

func newFeed(o *Options) *feed {
	return &feed{store: o.Store, log: o.Logger, catchUps: make(chan struct{}, maxCatchUps), subs: map[*subscription]bool{}, resume: make(chan struct{}, 1)}
}

// want sets the types that are read.
func (f *feed) want(ctx context.Context, types []string) error {
	slices.Sort(types)
	types = slices.Compact(types)
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Equal(types, f.types) {
		return nil
	}
	if !f.begun || len(f.types) == 0 {
		last, err := f.store.LatestEvent(ctx)
		if err != nil {
			return err
		}
		f.begun, f.pos = true, last
	}
	f.types, f.first, f.list, f.bytes = types, f.pos, nil, 0
	return nil
}

func (f *feed) join(s *subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs[s] = true
}

func (f *feed) leave(s *subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
}

// run reads the log until ctx ends.
func (f *feed) run(ctx context.Context, wake <-chan struct{}, pollEvery time.Duration) {
	for {
		pause := pollEvery
		more, err := f.advance(ctx)
		switch {
		case more:
			continue
		case err != nil && ctx.Err() == nil:
			f.log.Debug("event read failed; retrying", "receiver", webhooksReceiver, "error", err)
			pause = min(pollEvery, time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-wake:
		case <-f.resume:
		}
	}
}

// hold reports whether reading on would only drop events that all webhooks still need.
// The caller holds the lock.
func (f *feed) hold() bool {
	f.held = len(f.list) == feedEvents && len(f.subs) > 0
	for s := range f.subs {
		f.held = f.held && max(s.from, s.clear) < f.middle()
	}
	return f.held
}

func (f *feed) middle() int64 { return f.list[len(f.list)/2].ID }

// advance reads a part of the log.
func (f *feed) advance(ctx context.Context) (more bool, err error) {
	f.mu.Lock()
	after, types, hold := f.pos, f.types, f.hold()
	f.mu.Unlock()
	if hold || len(types) == 0 {
		return false, nil
	}
	part, err := f.store.EventsOf(ctx, after, readChunk, types...)
	if err != nil || part.Last == 0 {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pos != after || !slices.Equal(f.types, types) {
		return true, nil // it was read for other types
	}
	f.pos = part.Last
	added := len(f.list)
	for i := range part.Events {
		f.list = append(f.list, fed{Event: part.Events[i]})
		f.bytes += sizeOf(&part.Events[i])
	}
	for s := range f.subs {
		f.announce(s, after, f.list[added:])
	}
	for len(f.list) > feedEvents || f.bytes > feedBytes && len(f.list) > 0 {
		f.first = f.list[0].ID
		f.bytes -= sizeOf(&f.list[0].Event)
		f.list = f.list[1:]
	}
	return true, nil
}

func sizeOf(e *events.Event) int { return 128 + len(e.Subject) + len(e.Data) }

// announce wakes a webhook if it wants something of a part that was read after a
// position; otherwise the webhook need not read it.
func (f *feed) announce(s *subscription, after int64, part []fed) {
	for i := range part {
		if e := &part[i]; e.ID > s.clear && s.wants(e) {
			select {
			case s.wake <- struct{}{}:
			default:
			}
			return
		}
	}
	if s.clear >= after {
		s.clear = max(s.clear, f.pos)
	}
}

// read returns the next chunk of a webhook, at most limit events.
func (f *feed) read(ctx context.Context, s *subscription, after int64, limit int) (events.Chunk, error) {
	if part, ok := f.recent(s, after, limit); ok {
		return part, nil
	}
	select {
	case f.catchUps <- struct{}{}:
		defer func() { <-f.catchUps }()
	case <-ctx.Done():
		return events.Chunk{}, ctx.Err()
	}
	part, err := f.store.EventsOf(ctx, after, limit, s.types...)
	part.Events = slices.DeleteFunc(part.Events, func(e events.Event) bool { return !s.wants(&fed{Event: e}) })
	return part, err
}

// recent reads from memory, if that goes back far enough.
func (f *feed) recent(s *subscription, after int64, limit int) (_ events.Chunk, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.from <= after && after < s.clear {
		s.from = s.clear
		return events.Chunk{First: after + 1, Last: s.clear}, true
	}
	if s.from = max(s.from, after); after < f.first || f.pos == 0 {
		return events.Chunk{}, false
	}
	if f.held && after >= f.middle() {
		f.held = false
		select {
		case f.resume <- struct{}{}:
		default:
		}
	}
	if after >= f.pos {
		s.from, s.clear = after, after
		return events.Chunk{}, true
	}
	part := events.Chunk{First: after + 1, Last: f.pos}
	at, _ := slices.BinarySearchFunc(f.list, after+1, func(e fed, id int64) int { return int(e.ID - id) })
	for i := range f.list[at:] {
		e := &f.list[at+i]
		if !s.wants(e) {
			continue
		}
		if len(part.Events) == limit {
			part.Last = part.Events[limit-1].ID
			break
		}
		part.Events = append(part.Events, e.Event)
	}
	return part, true
}
