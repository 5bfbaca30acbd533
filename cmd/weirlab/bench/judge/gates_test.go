package judge

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// arrive makes contacts arrive at a provider, each done immediately.
func arrive(r *Record, ids ...int) {
	now := time.Unix(1000, 0)
	for _, id := range ids {
		channel := (id - 1) % max(1, r.expected.Channels)
		dispatched(r, id, channel, now)
		finished(r, id, channel, now)
	}
}

// dispatched makes a contact arrive.
func dispatched(r *Record, id, channel int, at time.Time) {
	r.Arrived(r.Channel([]byte(strconv.Itoa(channel))), []byte(Text(id, channel, at)), ' ', at, at)
}

// finished makes the report of a contact's end be accepted.
func finished(r *Record, id, channel int, at time.Time) {
	c := r.Channel([]byte(strconv.Itoa(channel)))
	r.Leaving(c, at)
	r.Done(c, id, at)
}

// seenBy returns what a provider saw, with the order judged as if the contacts had
// been queued one after the other.
func seenBy(r *Record) Seen {
	c := NewCalls(r.expected, 1)
	for k := range c.spans {
		c.Begin(k, 1)
		c.End(k)
	}
	s := r.Seen()
	s.Order = c.Judge(r.InOrder())
	return s
}

func sequence(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

func TestGates_EveryBrokenPromiseFailsItsGate(t *testing.T) {
	t.Parallel()
	e := Expectation{N: 400, Channels: 2, Capacity: 3, Order: true}
	for name, test := range map[string]struct {
		do    func(*Record)
		kills int
		want  string // part of the only fault; empty: none
	}{
		"as it should be":        {func(p *Record) { arrive(p, sequence(400)...) }, 0, ""},
		"one is lost":            {func(p *Record) { arrive(p, sequence(399)...) }, 0, "saw 399 of 400"},
		"one is lost in a crash": {func(p *Record) { arrive(p, sequence(399)...) }, 1, "saw 399 of 400"},
		"one is sent twice":      {func(p *Record) { arrive(p, append(sequence(400), 400)...) }, 0, "1 contacts were sent twice"},
		"some are sent twice in a crash": {func(p *Record) {
			arrive(p, append(sequence(400), 395, 396, 397, 398, 399, 400)...)
		}, 1, ""},
		"more than were out are sent twice in a crash": {func(p *Record) {
			arrive(p, append(sequence(400), 394, 395, 396, 397, 398, 399, 400)...)
		}, 1, "7 contacts were sent twice in 1 kills"},
		"a stranger": {func(p *Record) {
			arrive(p, sequence(400)...)
			c := p.Channel([]byte("0"))
			p.Arrived(c, []byte("hello"), ' ', time.Unix(1000, 0), time.Unix(1000, 0))
			p.Leaving(c, time.Unix(1000, 0))
		}, 0, "none of the run's"},
		"a channel has more out than it may": {func(p *Record) {
			for _, id := range []int{1, 3, 5, 7} {
				dispatched(p, id, 0, time.Unix(1000, 0))
			}
			for _, id := range []int{1, 3, 5, 7} {
				finished(p, id, 0, time.Unix(1000, 0))
			}
			arrive(p, remove(sequence(400), 1, 3, 5, 7)...)
		}, 0, "4 were active on a channel of capacity 3"},
		"one jumps the queue":                    {func(p *Record) { arrive(p, move(sequence(400), 299, 0)...) }, 0, "overtook more than 3"},
		"one is held up":                         {func(p *Record) { arrive(p, move(sequence(400), 0, 300)...) }, 0, ""},
		"the queue is reversed":                  {func(p *Record) { arrive(p, reversed(sequence(400))...) }, 0, "overtook more than 3"},
		"many are passed over":                   {func(p *Record) { arrive(p, append(sequence(400)[12:], sequence(12)...)...) }, 0, "overtook more than 3"},
		"as far as slots explain":                {func(p *Record) { arrive(p, move(sequence(400), 6, 0)...) }, 0, ""},
		"an end is not taken":                    {func(p *Record) { arrive(p, sequence(400)...); p.Refused(p.Channel([]byte("0"))) }, 0, "1 reports of an end were not accepted"},
		"an end is not taken by a killed broker": {func(p *Record) { arrive(p, sequence(400)...); p.Refused(p.Channel([]byte("0"))) }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewRecord()
			p.Reset(e)
			test.do(p)
			faults := strings.Join(seenBy(p).Faults(e, test.kills), "; ")
			if test.want == "" && faults != "" || !strings.Contains(faults, test.want) {
				t.Errorf("faults are %q; want %q", faults, test.want)
			}
		})
	}
}

// In a drain, a slow machine excuses nothing.
func TestGates_StrictOrderForgivesNothing(t *testing.T) {
	t.Parallel()
	e := Expectation{N: 400, Channels: 2, Capacity: 3, Order: true, Strict: true}
	for name, test := range map[string]struct {
		ids  []int
		want string
	}{
		"as it should be":             {sequence(400), ""},
		"held up as slots explain":    {move(sequence(400), 0, 6), ""},
		"held up for one place more":  {move(sequence(400), 0, 8), "1 contacts were overtaken by more than 3 others, one by 4"},
		"early as slots explain":      {move(sequence(400), 6, 0), ""},
		"early by one place too much": {move(sequence(400), 8, 0), "1 contacts overtook more than 3 others, one 4"},
	} {
		p := NewRecord()
		p.Reset(e)
		arrive(p, test.ids...)
		if faults := strings.Join(seenBy(p).Faults(e, 0), "; "); faults != test.want {
			t.Errorf("%s: faults are %q, want %q", name, faults, test.want)
		}
	}
}

func TestGates_ARestartKeepsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	e := Expectation{N: 400, Channels: 2, Capacity: 3, Order: true}
	p := NewRecord()
	p.Reset(e)
	arrive(p, sequence(100)...)
	p.Refused(p.Channel([]byte("0"))) // while the broker was stopped
	seen := seenBy(p)
	if faults := seen.RestartFaults(e, 300); len(faults) > 0 {
		t.Errorf("nothing is wrong, but: %v", faults)
	}
	for queued, want := range map[int]string{299: "the broker has 299", 301: "the broker has 301"} {
		if faults := strings.Join(seen.RestartFaults(e, queued), "; "); !strings.Contains(faults, want) {
			t.Errorf("with %d queued faults are %q", queued, faults)
		}
	}
	arrive(p, 7)
	if faults := strings.Join(seenBy(p).RestartFaults(e, 300), "; "); !strings.Contains(faults, "sent twice") {
		t.Errorf("one was sent twice, but faults are %q", faults)
	}
}

func remove(list []int, ids ...int) []int {
	var out []int
	for _, id := range list {
		keep := true
		for _, x := range ids {
			keep = keep && id != x
		}
		if keep {
			out = append(out, id)
		}
	}
	return out
}

// move moves an element from one index to another.
func move(list []int, from, to int) []int {
	id := list[from]
	rest := remove(list, id)
	return append(append(append([]int{}, rest[:to]...), id), rest[to:]...)
}

func reversed(list []int) []int {
	out := make([]int, len(list))
	for i, id := range list {
		out[len(list)-1-i] = id
	}
	return out
}

func TestGates_FreedSlotsAreTimed(t *testing.T) {
	t.Parallel()
	p := NewRecord()
	p.Reset(Expectation{N: 3, Channels: 1, Capacity: 1})
	now := time.Unix(1000, 0)
	for i, gap := range []time.Duration{0, 2 * time.Millisecond, 4 * time.Millisecond} {
		now = now.Add(gap)
		p.Arrived(p.Channel([]byte("0")), []byte(Text(i+1, 0, now.Add(-time.Millisecond))), ' ', now, now)
		now = now.Add(10 * time.Millisecond)
		finished(p, i+1, 0, now)
	}
	if f := p.Seen(); f.Gap50 != 4 || f.P50 != 1 {
		t.Errorf("from a free slot to the next contact took %v ms, from the call %v ms; want 4 and 1", f.Gap50, f.P50)
	}
}

// What an earlier run still does changes nothing of the next one.
func TestRunsAreApart(t *testing.T) {
	t.Parallel()
	p := NewRecord()
	p.Reset(Expectation{N: 2, Channels: 1, Capacity: 1})
	now := time.Unix(1000, 0)
	before := p.Channel([]byte("0"))
	dispatched(p, 1, 0, now)
	p.Reset(Expectation{N: 2, Channels: 1, Capacity: 1})
	p.Leaving(before, now)
	p.Done(before, 1, now)
	dispatched(p, 1, 0, now)
	dispatched(p, 2, 0, now)
	if s := p.Seen(); s.MaxActive != 2 || s.Ended != 0 {
		t.Errorf("%d active at once, %d ended; want 2 and 0", s.MaxActive, s.Ended)
	}
}
