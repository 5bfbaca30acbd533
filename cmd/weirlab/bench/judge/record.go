package judge

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Expectation is the description of a run that the provider gets before it begins.
type Expectation struct {
	N        int  `json:"n"`
	Channels int  `json:"channels"`
	Capacity int  `json:"capacity"`
	Order    bool `json:"order"`  // contacts of a channel must arrive in order, within as many places as there are slots
	Strict   bool `json:"strict"` // for all contacts
}

// Record is the provider's record of a run. Contacts are identified by the number at
// the beginning of their text.
type Record struct {
	mu        sync.Mutex
	expected  Expectation
	seen      []uint8 // by id - 1
	distinct  int
	twice     int
	strange   int // with an id that no contact has
	ended     int
	refused   int // reports that were not accepted
	channels  map[string]*Channel
	maxActive int
	order     []arrival
	latencies []time.Duration
	last      time.Time       // when the latest end was accepted
	first     time.Time       // when the first contact arrived since the mark
	marked    time.Time       // when the timeline begins
	timeline  []int           // arrivals in each beat since then
	gaps      []time.Duration // of capacity 1: from a freed slot to the next arrival
}

// Channel is a channel in the provider's record.
type Channel struct {
	Name   string
	active int
	freed  time.Time // of capacity 1: when its slot was freed; zero: not yet
}

// arrival is a contact that arrived for the first time.
type arrival struct {
	id int
	at time.Time
}

// NewRecord returns an empty record.
func NewRecord() *Record {
	r := &Record{}
	r.Reset(Expectation{})
	return r
}

// Reset clears the record for the next run.
func (r *Record) Reset(e Expectation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected, r.seen, r.latencies = e, make([]uint8, max(0, e.N)), make([]time.Duration, 0, max(0, e.N))
	r.distinct, r.twice, r.strange, r.ended, r.refused, r.maxActive, r.order = 0, 0, 0, 0, 0, 0, nil
	r.last, r.first, r.marked, r.timeline, r.gaps = time.Time{}, time.Time{}, time.Time{}, nil, nil
	r.channels = map[string]*Channel{} // what an earlier run still does to its channels changes nothing
}

// Mark begins the timeline.
func (r *Record) Mark(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marked, r.timeline, r.first = now, nil, time.Time{}
}

// Channel returns the channel of a name, and adds it if it is new.
func (r *Record) Channel(name []byte) *Channel {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.channels[string(name)]
	if c == nil {
		c = &Channel{Name: string(name)}
		r.channels[c.Name] = c
	}
	return c
}

// Text returns the text of a contact, four values: its number, its channel, the start
// of its call in ns, and 200 bytes of padding.
func Text(id, channel int, began time.Time) string {
	return fmt.Sprintf("%d %d %d %s", id, channel, began.UnixNano(), strings.Repeat("x", 200))
}

// parse reads the number and the start of a text; 0, 0: it is no contact's.
func parse(text []byte, separator byte) (id int, began int64) {
	number, rest, _ := bytes.Cut(text, []byte{separator})
	_, rest, _ = bytes.Cut(rest, []byte{separator})
	start, _, ok := bytes.Cut(rest, []byte{separator})
	if !ok {
		return 0, 0
	}
	id, _ = strconv.Atoi(string(number))
	began, _ = strconv.ParseInt(string(start), 10, 64)
	return id, began
}

// Arrived records a dispatched contact, whose values in text are separated by
// separator. at is when its request reached the machine, now when it was read.
func (r *Record) Arrived(c *Channel, text []byte, separator byte, now, at time.Time) (id int) {
	id, began := parse(text, separator)
	r.Took(c, id, now.Sub(time.Unix(0, began)), now, at)
	return id
}

// Took records a dispatched contact by its number, and how long it took; negative: that is not measured.
func (r *Record) Took(c *Channel, id int, took time.Duration, now, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.active++
	r.maxActive = max(r.maxActive, c.active)
	r.clock(c, now)
	if id < 1 || id > len(r.seen) {
		r.strange++
		return
	}
	if r.first.IsZero() {
		r.first = now
	}
	switch r.seen[id-1]++; r.seen[id-1] {
	case 1:
		r.distinct++
		if r.expected.Order {
			r.order = append(r.order, arrival{id, at})
		}
	default:
		r.twice++
	}
	if took >= 0 {
		r.latencies = append(r.latencies, took)
	}
}

// InOrder returns the contacts in the order of their arrival.
func (r *Record) InOrder() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.order, func(a, b arrival) int { return a.at.Compare(b.at) })
	ids := make([]int, len(r.order))
	for i, a := range r.order {
		ids[i] = a.id
	}
	return ids
}

// Beat is the resolution of the timeline.
const Beat = 100 * time.Millisecond

// longest is the length of the timeline; later arrivals are not on it.
const longest = 10 * time.Minute

// clock records when a contact arrived.
func (r *Record) clock(c *Channel, now time.Time) {
	if !c.freed.IsZero() && r.expected.Capacity == 1 {
		r.gaps = append(r.gaps, now.Sub(c.freed))
	}
	if since := now.Sub(r.marked); !r.marked.IsZero() && since >= 0 && since < longest {
		for len(r.timeline) <= int(since/Beat) {
			r.timeline = append(r.timeline, 0)
		}
		r.timeline[since/Beat]++
	}
}

// Leaving records that the report of a contact's end begins: its slot is free.
func (r *Record) Leaving(c *Channel, now time.Time) {
	r.mu.Lock()
	c.active--
	c.freed = now
	r.mu.Unlock()
}

// Done records that the report of a contact's end was accepted.
func (r *Record) Done(c *Channel, id int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id >= 1 && id <= len(r.seen) && r.channels[c.Name] == c {
		r.ended, r.last = r.ended+1, now
	}
}

// Refused records that the report of a contact's end was given up.
func (r *Record) Refused(c *Channel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.channels[c.Name] == c {
		r.refused++
	}
}

// Seen holds the figures of the provider about a run.
type Seen struct {
	Distinct  int       `json:"distinct"`
	Twice     int       `json:"twice"`
	Strange   int       `json:"strange"`
	Ended     int       `json:"ended"`
	Refused   int       `json:"refused"`
	MaxActive int       `json:"max_active"`
	P50       float64   `json:"p50_ms"`
	P99       float64   `json:"p99_ms"`
	Gap50     float64   `json:"gap_p50_ms"`
	Gap99     float64   `json:"gap_p99_ms"`
	CPU       int64     `json:"cpu_ns"` // of the provider's process, since it began
	Hooks     int       `json:"hooks"`  // events that came by webhook
	Marked    time.Time `json:"marked"`
	Timeline  []int     `json:"timeline,omitempty"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`

	Order `json:"-"` // judged by the process that queued the contacts
}

// Reported returns the number of contacts whose end was reported, or given up.
func (s Seen) Reported() int { return s.Ended + s.Refused }

// Order holds how far contacts arrived from their turns.
type Order struct {
	Early, Late       int // contacts before their turn, and after it, by more places than there are slots
	MaxEarly, MaxLate int // the max number of places
}

// Seen returns the record so far.
func (r *Record) Seen() Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Seen{
		Distinct: r.distinct, Twice: r.twice, Strange: r.strange, Ended: r.ended, Refused: r.refused,
		MaxActive: r.maxActive, First: r.first, Last: r.last, Marked: r.marked, Timeline: slices.Clone(r.timeline),
	}
	if r.ended >= r.expected.N { // sorted once, at the end
		s.P50, s.P99 = Quantiles(r.latencies)
		s.Gap50, s.Gap99 = Quantiles(r.gaps)
	}
	return s
}

// Quantiles returns the median and the 99th percentile in milliseconds. It sorts
// the list.
func Quantiles(list []time.Duration) (p50, p99 float64) {
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	return millis(list[len(list)/2]), millis(list[len(list)*99/100])
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
