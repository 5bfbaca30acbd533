package persistence

import (
	"slices"
	"sync"
	"time"

	"weir"
)

// Transitions are not written into the rows of their contacts one by one. A
// batch leaves all of them in one row of the table contact_journal, which is as
// durable, and a little later what has become of each contact is folded into its
// row, once for several transitions. Until then memory knows what the row does
// not say yet. What a process leaves behind is folded by the next one that takes
// the channel.
//
// Rows of contacts that wait are always exact: a transition back into the queue
// is written at once. A row may say that a contact waits, or is in flight, when
// it has gone on; it never says that one has gone further than it has.

const (
	// foldAfter is how long what a row of the journal says rests before it is folded:
	// most contacts go on meanwhile, and are written once instead of twice.
	foldAfter = 400 * time.Millisecond
	// foldEvery is how often.
	foldEvery = 50 * time.Millisecond
)

// entry is what memory knows of a contact whose row is behind.
type entry struct {
	base     int64 // the revision of the row
	row      int64 // of the journal that holds the latest transition
	progress weir.Progress
}

// journal is what of the journal is not folded yet. Only the writer's goroutine
// changes it, and reads it without the lock; others read it under the lock.
type journal struct {
	mu      sync.RWMutex
	entries map[weir.Ref]entry
	removed int64 // counts removals: a read during which it changed may have seen old rows

	rows   []journalRow // that are not folded, the oldest first
	folded time.Time    // when a fold was begun
	// How many folds the database has refused in a row. What they would have written
	// stays where it is, as good as before, and is tried less and less often.
	refused int
	fresh   recent // contacts that were accepted here and not changed since
}

// journalRow is a row of the journal and when it was written.
type journalRow struct {
	id int64
	at time.Time
}

func newJournal() *journal {
	return &journal{entries: map[weir.Ref]entry{}, fresh: newRecent()}
}

// outcomes of a batch that the journal has to know once it is committed.
type journaled struct {
	row     int64
	entries map[weir.Ref]entry // in the new row
	exact   []weir.Ref         // whose rows were written
	fresh   []weir.Ref         // that were accepted
	folded  int64              // up to this row of the journal all is in place
}

// committed takes over what a batch has written.
func (j *journal) committed(b *journaled, now time.Time) {
	for _, ref := range b.fresh {
		j.fresh.add(ref)
	}
	if b.row == 0 && len(b.exact) == 0 && b.folded == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := len(j.entries)
	if b.folded > 0 {
		j.rows = slices.DeleteFunc(j.rows, func(r journalRow) bool { return r.id <= b.folded })
		for ref, e := range j.entries {
			if e.row <= b.folded {
				delete(j.entries, ref)
			}
		}
	}
	for _, ref := range b.exact {
		delete(j.entries, ref)
		j.fresh.remove(ref)
	}
	if len(j.entries) != before {
		j.removed++
	}
	for ref, e := range b.entries {
		j.entries[ref] = e
		j.fresh.remove(ref)
	}
	if b.row > 0 {
		j.rows = append(j.rows, journalRow{b.row, now})
	}
}

// last is the latest row; 0: none.
func (j *journal) last() int64 {
	if len(j.rows) == 0 {
		return 0
	}
	return j.rows[len(j.rows)-1].id
}

// due is the latest row that has rested for long enough to be folded; 0: none.
func (j *journal) due(now time.Time) int64 {
	if len(j.rows) == 0 || now.Sub(j.folded) < j.every() || now.Sub(j.rows[0].at) < foldAfter {
		return 0
	}
	j.folded = now
	upTo := j.rows[0].id
	for _, r := range j.rows {
		if now.Sub(r.at) < foldAfter {
			break
		}
		upTo = r.id
	}
	return upTo
}

// pause is how long the writer may sleep; 0: until it is woken.
func (j *journal) pause(now time.Time) time.Duration {
	if len(j.rows) == 0 {
		return 0
	}
	return max(foldAfter-now.Sub(j.rows[0].at), j.every()-now.Sub(j.folded), time.Millisecond)
}

func (j *journal) every() time.Duration { return foldEvery << min(j.refused, 8) }

// empty tells whether every row is exact.
func (j *journal) empty() bool {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return len(j.entries) == 0
}

// together has read see rows, and then merge correct them by what the journal
// has: both may be called again, from the start, when contacts were folded
// meanwhile, for then a row may be older than what the journal says.
func (j *journal) together(read func() error, merge func(func(weir.Ref) (weir.Progress, bool)) error) error {
	const tries = 3
	for try := 0; ; try++ {
		j.mu.RLock()
		before := j.removed
		if try < tries {
			j.mu.RUnlock()
		}
		err := read()
		if try < tries {
			j.mu.RLock()
		}
		if err == nil && before == j.removed {
			err = merge(j.progress)
			j.mu.RUnlock()
			return err
		}
		j.mu.RUnlock()
		if err != nil {
			return err
		}
	}
}

// progress is what the journal knows of a contact.
func (j *journal) progress(ref weir.Ref) (weir.Progress, bool) {
	e, ok := j.entries[ref]
	return e.progress, ok
}

// recent is a set of the latest contacts that were put into it: at least
// recentMost, at most twice as many.
type recent struct {
	young, old map[weir.Ref]struct{}
}

const recentMost = 1 << 14

func newRecent() recent {
	return recent{young: map[weir.Ref]struct{}{}, old: map[weir.Ref]struct{}{}}
}

func (r *recent) add(ref weir.Ref) {
	if len(r.young) == recentMost {
		r.young, r.old = map[weir.Ref]struct{}{}, r.young
	}
	r.young[ref] = struct{}{}
}

func (r *recent) has(ref weir.Ref) bool {
	if _, ok := r.young[ref]; ok {
		return true
	}
	_, ok := r.old[ref]
	return ok
}

func (r *recent) remove(ref weir.Ref) {
	delete(r.young, ref)
	delete(r.old, ref)
}
