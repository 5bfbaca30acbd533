package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// expectation is the description of a run that the provider gets before it begins.
type expectation struct {
	N        int  `json:"n"`
	Channels int  `json:"channels"`
	Capacity int  `json:"capacity"`
	Order    bool `json:"order"`  // contacts of a channel must arrive in order, within as many places as there are slots
	Strict   bool `json:"strict"` // for all contacts
}

// tally is the provider's record. Contacts are identified by the number at the
// beginning of their text.
type tally struct {
	mu        sync.Mutex
	expected  expectation
	seen      []uint8 // by id - 1
	distinct  int
	twice     int
	strange   int // with an id that no contact has
	ended     int
	unheard   int // acks that were not accepted
	active    map[string]int
	most      int
	order     []arrival
	latencies []time.Duration
	last      time.Time            // when the latest end was accepted
	first     time.Time            // when the first contact arrived since the mark
	marked    time.Time            // when the timeline begins
	timeline  []int                // arrivals in each beat since then
	freed     map[string]time.Time // by channel of capacity 1: when its slot was freed
	gaps      []time.Duration      // from then to the next arrival
}

func newTally() *tally {
	t := &tally{}
	t.reset(expectation{})
	return t
}

func (t *tally) reset(e expectation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected, t.seen, t.latencies = e, make([]uint8, max(0, e.N)), make([]time.Duration, 0, max(0, e.N))
	t.distinct, t.twice, t.strange, t.ended, t.unheard, t.most, t.order = 0, 0, 0, 0, 0, 0, nil
	t.active, t.last, t.first = map[string]int{}, time.Time{}, time.Time{}
	t.marked, t.timeline, t.freed, t.gaps = time.Time{}, nil, map[string]time.Time{}, nil
}

// mark begins the timeline.
func (t *tally) mark(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marked, t.timeline, t.first = now, nil, time.Time{}
}

// text returns the text of a contact, four values: its number, its channel, the start
// of its call in ns, and 200 bytes of padding.
func text(id, channel int, began time.Time) string {
	return fmt.Sprintf("%d %d %d %s", id, channel, began.UnixNano(), strings.Repeat("x", 200))
}

// arrival is a contact that arrived for the first time.
type arrival struct {
	id int
	at time.Time
}

// arrived records a dispatched contact. at is when its request reached the machine.
func (t *tally) arrived(channel, message string, now, at time.Time) (id int) {
	fields := strings.SplitN(message, " ", 4)
	var began int64
	if len(fields) == 4 {
		id, _ = strconv.Atoi(fields[0])
		began, _ = strconv.ParseInt(fields[2], 10, 64)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active[channel]++
	t.most = max(t.most, t.active[channel])
	t.clock(channel, now)
	if id < 1 || id > len(t.seen) {
		t.strange++
		return id
	}
	if t.first.IsZero() {
		t.first = now
	}
	switch t.seen[id-1]++; t.seen[id-1] {
	case 1:
		t.distinct++
		if t.expected.Order {
			t.order = append(t.order, arrival{id, at})
		}
	default:
		t.twice++
	}
	t.latencies = append(t.latencies, now.Sub(time.Unix(0, began)))
	return id
}

// arrivedInOrder returns the contacts in the order of their arrival.
func (t *tally) arrivedInOrder() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.order, func(a, b arrival) int { return a.at.Compare(b.at) })
	ids := make([]int, len(t.order))
	for i, a := range t.order {
		ids[i] = a.id
	}
	return ids
}

// longest is the length of the timeline; later arrivals are not on it.
const longest = 10 * time.Minute

// clock records when a contact arrived.
func (t *tally) clock(channel string, now time.Time) {
	if freed, ok := t.freed[channel]; ok && t.expected.Capacity == 1 {
		t.gaps = append(t.gaps, now.Sub(freed))
	}
	if since := now.Sub(t.marked); !t.marked.IsZero() && since >= 0 && since < longest {
		for len(t.timeline) <= int(since/beat) {
			t.timeline = append(t.timeline, 0)
		}
		t.timeline[since/beat]++
	}
}

// leaving records that the report of a contact's end begins.
func (t *tally) leaving(channel string, now time.Time) {
	t.mu.Lock()
	t.active[channel]--
	if t.expected.Capacity == 1 {
		t.freed[channel] = now
	}
	t.mu.Unlock()
}

// over records that the report of a contact's end was accepted.
func (t *tally) over(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id >= 1 && id <= len(t.seen) {
		t.ended, t.last = t.ended+1, time.Now()
	}
}

func (t *tally) refused() {
	t.mu.Lock()
	t.unheard++
	t.mu.Unlock()
}

// seenByProvider is the provider's report of a run.
type seenByProvider struct {
	Distinct  int       `json:"distinct"`
	Twice     int       `json:"twice"`
	Strange   int       `json:"strange"`
	Ended     int       `json:"ended"`
	Unheard   int       `json:"unheard"`
	MaxActive int       `json:"max_active"`
	P50       float64   `json:"p50_ms"`
	P99       float64   `json:"p99_ms"`
	Gap50     float64   `json:"gap_p50_ms"`
	Gap99     float64   `json:"gap_p99_ms"`
	CPU       int64     `json:"cpu_ns"` // of the provider's process, since it began
	Marked    time.Time `json:"marked"`
	Timeline  []int     `json:"timeline,omitempty"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`

	order // judged by the process that queued the contacts
}

func (t *tally) figures() seenByProvider {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := seenByProvider{
		Distinct: t.distinct, Twice: t.twice, Strange: t.strange, Ended: t.ended, Unheard: t.unheard,
		MaxActive: t.most, First: t.first, Last: t.last,
		CPU: int64(ownCost().cpu), Marked: t.marked, Timeline: slices.Clone(t.timeline),
	}
	if t.ended >= t.expected.N { // sorted once, at the end
		f.P50, f.P99 = quantiles(t.latencies)
		f.Gap50, f.Gap99 = quantiles(t.gaps)
	}
	return f
}

// quantiles returns the median and the 99th percentile in milliseconds. It sorts
// the list.
func quantiles(list []time.Duration) (p50, p99 float64) {
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	return millis(list[len(list)/2]), millis(list[len(list)*99/100])
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
