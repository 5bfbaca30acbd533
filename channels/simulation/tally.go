package simulation

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// Tally counts, for each line (a provider's channel), what the provider received
// and what is done. It is safe for concurrent use. It keeps every key until Forget or Reset.
type Tally struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	report LineReport
	keys   map[string]*entry
	gone   forgotten
}

type entry struct {
	KeyReport
	open    []int     // slots of each unit that is not done, oldest first
	touched time.Time // last time that a unit was accepted or ended
}

// maxForgotten bounds the hashes of keys that were forgotten, of each line: about 20 MB.
const maxForgotten = 500_000

// forgotten remembers the keys that were forgotten latest, by hash, so that a repetition of one
// still counts as doubled.
type forgotten struct {
	seed  maphash.Seed
	known map[uint64]bool
	order []uint64 // a ring, once it is full
	next  int
}

func (f *forgotten) add(key string) {
	if f.known == nil {
		f.seed, f.known = maphash.MakeSeed(), map[uint64]bool{}
	}
	h := maphash.String(f.seed, key)
	if len(f.order) < maxForgotten {
		f.order = append(f.order, h)
	} else {
		delete(f.known, f.order[f.next])
		f.order[f.next] = h
		f.next = (f.next + 1) % maxForgotten
	}
	f.known[h] = true
}

func (f *forgotten) has(key string) bool {
	return len(f.known) > 0 && f.known[maphash.String(f.seed, key)]
}

// LineReport is the simulator's record of one line.
type LineReport struct {
	Line       string    `json:"line"`
	Sent       int       `json:"sent"`        // distinct keys
	Taken      int       `json:"taken"`       // units accepted; repeated keys count each time
	Doubled    int       `json:"doubled"`     // keys accepted more than once
	Refused    int       `json:"refused"`     // units that the provider did not accept
	Active     int       `json:"active"`      // slots of accepted units that are not done
	PeakActive int       `json:"most_active"` // max value of Active so far
	Finished   int       `json:"finished"`    // units that are done
	FirstAt    time.Time `json:"first_at,omitzero"`
	LastAt     time.Time `json:"last_at,omitzero"` // last time that a unit was accepted or ended
}

// KeyReport is the simulator's record of one key.
type KeyReport struct {
	Key     string `json:"key"`
	Address string `json:"address"`
	Taken   int    `json:"taken"`  // more than 1: the outreach was duplicated
	Active  int    `json:"active"` // units that are not done
	// At is when the first unit was accepted.
	At time.Time `json:"at,omitzero"`
}

// NewTally returns an empty tally.
func NewTally() *Tally { return &Tally{lines: map[string]*line{}} }

// Begin counts a unit that the provider has accepted. key is the client's identity
// of the outreach: two units with one key are one outreach that was made twice.
func (t *Tally) Begin(line, key, address string, slots int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.line(line)
	e, r, now := l.keys[key], &l.report, time.Now().UTC()
	if e == nil {
		e = &entry{KeyReport: KeyReport{Key: key, Address: address, At: now}}
		l.keys[key] = e
		if l.gone.has(key) {
			e.Taken++
		} else {
			r.Sent++
		}
	}
	e.Taken++
	e.Active++
	e.open, e.touched = append(e.open, slots), now
	r.Taken++
	if e.Taken == 2 {
		r.Doubled++
	}
	r.Active += slots
	r.PeakActive = max(r.PeakActive, r.Active)
	r.touch()
}

// End counts the oldest open unit of a key as done. It reports whether there was
// one.
func (t *Tally) End(line, key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[line]
	if l == nil || l.keys[key] == nil || len(l.keys[key].open) == 0 {
		return false
	}
	e := l.keys[key]
	l.report.Active -= e.open[0]
	l.report.Finished++
	l.report.touch()
	e.open, e.touched = e.open[1:], time.Now()
	e.Active--
	return true
}

// Forget drops the keys of a line of which no unit is open or was accepted or ended since an
// instant, and that may go; all counts stay. A key that comes again still counts as doubled, as
// long as it is among the latest 500,000 of the line that were forgotten.
func (t *Tally) Forget(name string, before time.Time, may func(KeyReport) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[name]
	if l == nil {
		return
	}
	for key, e := range l.keys {
		if e.Active == 0 && e.touched.Before(before) && may(e.KeyReport) {
			delete(l.keys, key)
			l.gone.add(key)
		}
	}
}

// Refuse counts a unit that the provider was offered and did not accept.
func (t *Tally) Refuse(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(line).report.Refused++
}

// Snapshot returns the report of every line, sorted by name.
func (t *Tally) Snapshot() []LineReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	reports := make([]LineReport, 0, len(t.lines))
	for _, l := range t.lines {
		reports = append(reports, l.report)
	}
	slices.SortFunc(reports, func(a, b LineReport) int { return cmp.Compare(a.Line, b.Line) })
	return reports
}

// Line returns the report of one line; that of an unknown line is all zero.
func (t *Tally) Line(name string) LineReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lines[name]; l != nil {
		return l.report
	}
	return LineReport{Line: name}
}

// Keys returns the reports of all keys of a line, sorted by key.
func (t *Tally) Keys(name string) []KeyReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[name]
	if l == nil {
		return []KeyReport{}
	}
	keys := make([]KeyReport, 0, len(l.keys))
	for _, e := range l.keys {
		keys = append(keys, e.KeyReport)
	}
	slices.SortFunc(keys, func(a, b KeyReport) int { return cmp.Compare(a.Key, b.Key) })
	return keys
}

// Reset clears everything. Units that are open at that time are never counted.
func (t *Tally) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.lines)
}

func (t *Tally) line(name string) *line {
	l := t.lines[name]
	if l == nil {
		l = &line{report: LineReport{Line: name}, keys: map[string]*entry{}}
		t.lines[name] = l
	}
	return l
}

func (r *LineReport) touch() {
	r.LastAt = time.Now().UTC()
	if r.FirstAt.IsZero() {
		r.FirstAt = r.LastAt
	}
}
