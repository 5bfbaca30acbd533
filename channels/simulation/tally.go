package simulation

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Tally counts, for each line (a provider's channel), what the provider was
// given and what is over. It is safe for concurrent use. It remembers every
// key until Reset.
type Tally struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	report LineReport
	keys   map[string]*entry
}

type entry struct {
	KeyReport
	open []int // slots of each unit that is not over, oldest first
}

// LineReport is the truth about one line.
type LineReport struct {
	Line       string    `json:"line"`
	Sent       int       `json:"sent"`        // distinct keys
	Taken      int       `json:"taken"`       // units, repeated keys counted each time
	Doubled    int       `json:"doubled"`     // keys taken more than once
	Refused    int       `json:"refused"`     // units that the provider did not take
	Active     int       `json:"active"`      // slots taken and not over
	MostActive int       `json:"most_active"` // the most that Active ever was
	Finished   int       `json:"finished"`    // units that are over
	FirstAt    time.Time `json:"first_at,omitzero"`
	LastAt     time.Time `json:"last_at,omitzero"` // last time that a unit was taken or ended
}

// KeyReport is the truth about one key.
type KeyReport struct {
	Key     string `json:"key"`
	Address string `json:"address"`
	Taken   int    `json:"taken"`  // more than 1: the outreach was doubled
	Active  int    `json:"active"` // units that are not over
}

// NewTally makes an empty tally.
func NewTally() *Tally { return &Tally{lines: map[string]*line{}} }

// Begin counts a unit that the provider has taken in. key is the client's
// identity of the outreach: two units with one key are one outreach that was
// made twice.
func (t *Tally) Begin(line, key, address string, slots int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.line(line)
	e := l.keys[key]
	if e == nil {
		e = &entry{KeyReport: KeyReport{Key: key, Address: address}}
		l.keys[key] = e
	}
	e.Taken++
	e.Active++
	e.open = append(e.open, slots)
	r := &l.report
	r.Sent = len(l.keys)
	r.Taken++
	if e.Taken == 2 {
		r.Doubled++
	}
	r.Active += slots
	r.MostActive = max(r.MostActive, r.Active)
	r.touch()
}

// End counts the oldest open unit of a key as over. It tells whether there
// was one.
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
	e.open = e.open[1:]
	e.Active--
	return true
}

// Refuse counts a unit that the provider was offered and did not take.
func (t *Tally) Refuse(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(line).report.Refused++
}

// Snapshot gives the report of every line, by name.
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

// Line gives the report of one line; an unknown one is all zero.
func (t *Tally) Line(name string) LineReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lines[name]; l != nil {
		return l.report
	}
	return LineReport{Line: name}
}

// Keys gives every key of a line, by name.
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

// Reset forgets everything. Units that are open then are never counted.
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
