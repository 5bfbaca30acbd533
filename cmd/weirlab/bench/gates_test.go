package bench

import (
	"strings"
	"testing"
	"time"
)

// arrive makes contacts arrive at a provider, each done immediately.
func arrive(t *tally, ids ...int) {
	now := time.Unix(1000, 0)
	for _, id := range ids {
		channel := channelName((id - 1) % max(1, t.expected.Channels))
		t.arrived(channel, text(id, (id-1)%max(1, t.expected.Channels), now), now, now)
		t.leaving(channel, now)
		t.over(id)
	}
}

// figuresOf returns a provider's figures, with the order judged as if the contacts had
// been queued one after the other.
func figuresOf(t *tally) seenByProvider {
	e := t.expected
	c := newCalls(Workload{N: e.N, Channels: e.Channels, Capacity: e.Capacity, Batch: 1})
	for k := range c.spans {
		c.begin(k, 1)
		c.end(k)
	}
	f := t.figures()
	f.order = c.judge(t.arrivedInOrder())
	return f
}

func sequence(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

func TestEveryBrokenPromiseFailsItsGate(t *testing.T) {
	t.Parallel()
	e := expectation{N: 400, Channels: 2, Capacity: 3, Order: true}
	for name, test := range map[string]struct {
		do    func(*tally)
		kills int
		want  string // part of the only fault; empty: none
	}{
		"as it should be":        {func(p *tally) { arrive(p, sequence(400)...) }, 0, ""},
		"one is lost":            {func(p *tally) { arrive(p, sequence(399)...) }, 0, "saw 399 of 400"},
		"one is lost in a crash": {func(p *tally) { arrive(p, sequence(399)...) }, 1, "saw 399 of 400"},
		"one is sent twice":      {func(p *tally) { arrive(p, append(sequence(400), 400)...) }, 0, "1 contacts were sent twice"},
		"some are sent twice in a crash": {func(p *tally) {
			arrive(p, append(sequence(400), 395, 396, 397, 398, 399, 400)...)
		}, 1, ""},
		"more than were out are sent twice in a crash": {func(p *tally) {
			arrive(p, append(sequence(400), 394, 395, 396, 397, 398, 399, 400)...)
		}, 1, "7 contacts were sent twice in 1 kills"},
		"a stranger": {func(p *tally) {
			arrive(p, sequence(400)...)
			p.arrived("0", "hello", time.Unix(1000, 0), time.Unix(1000, 0))
			p.leaving("0", time.Unix(1000, 0))
		}, 0, "none of the run's"},
		"a channel has more out than it may": {func(p *tally) {
			for _, id := range []int{1, 3, 5, 7} {
				p.arrived("0", text(id, 0, time.Unix(1000, 0)), time.Unix(1000, 0), time.Unix(1000, 0))
			}
			for _, id := range []int{1, 3, 5, 7} {
				p.leaving("0", time.Unix(1000, 0))
				p.over(id)
			}
			arrive(p, remove(sequence(400), 1, 3, 5, 7)...)
		}, 0, "4 were active on a channel of capacity 3"},
		"one jumps the queue":                    {func(p *tally) { arrive(p, move(sequence(400), 299, 0)...) }, 0, "overtook more than 3"},
		"one is held up":                         {func(p *tally) { arrive(p, move(sequence(400), 0, 300)...) }, 0, ""},
		"the queue is reversed":                  {func(p *tally) { arrive(p, reversed(sequence(400))...) }, 0, "overtook more than 3"},
		"many are passed over":                   {func(p *tally) { arrive(p, append(sequence(400)[12:], sequence(12)...)...) }, 0, "overtook more than 3"},
		"as far as slots explain":                {func(p *tally) { arrive(p, move(sequence(400), 6, 0)...) }, 0, ""},
		"an end is not taken":                    {func(p *tally) { arrive(p, sequence(400)...); p.refused() }, 0, "1 ends were not taken"},
		"an end is not taken by a killed broker": {func(p *tally) { arrive(p, sequence(400)...); p.refused() }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTally()
			p.reset(e)
			test.do(p)
			faults := strings.Join(figuresOf(p).faults(e, test.kills), "; ")
			if test.want == "" && faults != "" || !strings.Contains(faults, test.want) {
				t.Errorf("faults are %q; want %q", faults, test.want)
			}
		})
	}
}

// In a drain, a slow machine excuses nothing.
func TestStrictOrderForgivesNothing(t *testing.T) {
	t.Parallel()
	e := expectation{N: 400, Channels: 2, Capacity: 3, Order: true, Strict: true}
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
		p := newTally()
		p.reset(e)
		arrive(p, test.ids...)
		if faults := strings.Join(figuresOf(p).faults(e, 0), "; "); faults != test.want {
			t.Errorf("%s: faults are %q, want %q", name, faults, test.want)
		}
	}
}

func TestARestartKeepsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	e := expectation{N: 400, Channels: 2, Capacity: 3, Order: true}
	p := newTally()
	p.reset(e)
	arrive(p, sequence(100)...)
	p.refused() // while the broker was stopped
	seen := figuresOf(p)
	if faults := seen.restartFaults(e, 300); len(faults) > 0 {
		t.Errorf("nothing is wrong, but: %v", faults)
	}
	for queued, want := range map[int]string{299: "the broker has 299", 301: "the broker has 301"} {
		if faults := strings.Join(seen.restartFaults(e, queued), "; "); !strings.Contains(faults, want) {
			t.Errorf("with %d queued faults are %q", queued, faults)
		}
	}
	arrive(p, 7)
	if faults := strings.Join(figuresOf(p).restartFaults(e, 300), "; "); !strings.Contains(faults, "sent twice") {
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

func TestFreedSlotsAreTimed(t *testing.T) {
	t.Parallel()
	p := newTally()
	p.reset(expectation{N: 3, Channels: 1, Capacity: 1})
	now := time.Unix(1000, 0)
	for i, gap := range []time.Duration{0, 2 * time.Millisecond, 4 * time.Millisecond} {
		now = now.Add(gap)
		p.arrived("0", text(i+1, 0, now.Add(-time.Millisecond)), now, now)
		now = now.Add(10 * time.Millisecond)
		p.leaving("0", now)
		p.over(i + 1)
	}
	if f := p.figures(); f.Gap50 != 4 || f.P50 != 1 {
		t.Errorf("from a free slot to the next contact took %v ms, from the call %v ms; want 4 and 1", f.Gap50, f.P50)
	}
}
