package people_test

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/people"
)

// drawClaim draws purposes, zones and earlier contacts, many of them close to each other.
func drawClaim(rt *rapid.T, t *testing.T) (*people.Claim, time.Time) {
	now := time.Date(2026, 1, 1, 0, rapid.IntRange(0, 366*24*60).Draw(rt, "now"), 0, 0, time.UTC)
	raw := people.Purpose{RepeatGuard: rapid.SampledFrom([]string{"", "1h", "24h"}).Draw(rt, "repeat")}
	for range rapid.IntRange(1, 3).Draw(rt, "caps") {
		k := people.Cap{
			Max: rapid.IntRange(1, 6).Draw(rt, "max"), Within: rapid.SampledFrom([]string{"90m", "1d", "2d", "7d"}).Draw(rt, "within"),
			Over: rapid.SampledFrom([]people.Over{"", people.OverPurpose, people.OverAll}).Draw(rt, "over"),
		}
		if rapid.Bool().Draw(rt, "calendar") && k.Within != "90m" {
			k.Kind = people.Calendar
		}
		raw.Caps = append(raw.Caps, k)
	}
	if rapid.IntRange(0, 3).Draw(rt, "night") == 0 {
		raw.QuietHours = &people.Hours{From: "21:00", To: "08:00"}
	}
	names := []string{"UTC", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu"}
	c := &people.Claim{
		Name: "p", Purpose: compiled(t, raw), Text: 1, Contact: weir.Ref{Channel: 1, ID: 3},
		Zones: zonesOf(t, rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID[string]).Draw(rt, "zones")...),
	}
	for range rapid.IntRange(0, 40).Draw(rt, "contacts") {
		c.Before = append(c.Before, people.Entry{
			At:      now.Add(-time.Duration(rapid.IntRange(-60, 9*24*60).Draw(rt, "ago")) * time.Minute),
			Purpose: rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "purpose"), Text: int64(rapid.IntRange(0, 4).Draw(rt, "text")),
			Contact: weir.Ref{Channel: 1, ID: weir.ContactID(rapid.IntRange(1, 8).Draw(rt, "contact"))},
		})
	}
	return c, now
}

// leaves is when an entry leaves the count of a cap.
func leaves(k *people.Cap, at time.Time, zones []*time.Location) (last time.Time) {
	within := map[string]time.Duration{"90m": 90 * time.Minute, "1d": 24 * time.Hour, "2d": 48 * time.Hour, "7d": 168 * time.Hour}[k.Within]
	if k.Days() == 0 {
		return at.Add(within)
	}
	for _, z := range zones {
		y, m, d := at.In(z).Date()
		if end := time.Date(y, m, d+k.Days(), 0, 0, 0, 0, z); end.After(last) {
			last = end
		}
	}
	return last
}

// room returns what a cap leaves at an instant.
func room(k *people.Cap, c *people.Claim, at time.Time) int {
	left := k.Max
	for _, e := range c.Before {
		if (k.Over == people.OverAll || e.Purpose == c.Name) && leaves(k, e.At, c.Zones).After(at) {
			left--
		}
	}
	return left
}

// A contact that caps are against waits until the first instant at which all of them leave one, whatever the
// history is; what they leave is counted over all of it.
func TestJudge_CapsAreThoseOfTheWholeHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, now := drawClaim(rt, t)
		p := *c.Purpose
		p.QuietHours, p.RepeatGuard = nil, ""
		c.Purpose, c.Text = compiled(t, p), 0
		v := people.Judge(c, now)
		var instants []time.Time
		for _, k := range c.Purpose.Caps {
			for _, e := range c.Before {
				if at := leaves(&k, e.At, c.Zones); at.After(now) {
					instants = append(instants, at)
				}
			}
		}
		slices.SortFunc(instants, time.Time.Compare)
		due := now
		for slices.ContainsFunc(c.Purpose.Caps, func(k people.Cap) bool { return room(&k, c, due) <= 0 }) {
			due, instants = instants[0], instants[1:]
		}
		if due.Equal(now) != (v.Rule == "") || v.Rule != "" && !v.Due.Equal(due) {
			rt.Fatalf("it waits until %v, want %v: %+v", v.Due, due, v)
		}
		f, _ := people.ReadFacts(v.Receipt)
		for i, k := range c.Purpose.Caps[:len(f.Left)] { // up to the first that leaves none
			if want := max(0, room(&k, c, now)-1); f.Left[i].N != want {
				rt.Fatalf("%s leaves %d, want %d", k.Text(), f.Left[i].N, want)
			}
		}
	})
}

// The entries that a claim needs give the verdict of all entries, with any others beside them.
func TestNeeds_AreEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, now := drawClaim(rt, t)
		want, all := people.Judge(c, now), c.Before
		n := c.Purpose.Needs()
		slices.SortStableFunc(all, func(a, b people.Entry) int { return b.At.Compare(a.At) })
		ofAll, ofPurpose, ofText := n.All, n.Purpose, 1
		c.Before = nil
		for _, e := range all {
			keep := rapid.IntRange(0, 9).Draw(rt, "another") == 0
			for _, needed := range []struct {
				left *int
				is   bool
			}{{&ofAll, true}, {&ofPurpose, e.Purpose == c.Name}, {&ofText, n.Text && e.Text == c.Text && e.Contact != c.Contact}} {
				if needed.is && *needed.left > 0 {
					*needed.left--
					keep = true
				}
			}
			if keep {
				c.Before = append(c.Before, e)
			}
		}
		if got := people.Judge(c, now); !reflect.DeepEqual(got, want) {
			rt.Fatalf("of %d entries %d were read: %+v, want %+v", len(all), len(c.Before), got, want)
		}
	})
}

// longClaim is a claim for a person with so many earlier contacts.
func longClaim(earlier int) (*people.Claim, time.Time) {
	p, _ := (&people.Purpose{Caps: []people.Cap{{Max: 3, Within: "7d", Over: people.OverAll}}}).Compile()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := &people.Claim{Name: "p", Purpose: p, Zones: []*time.Location{time.UTC}}
	for i := range earlier {
		c.Before = append(c.Before, people.Entry{At: now.Add(time.Duration(i-earlier-1) * time.Second), Purpose: strings.Repeat("q", i%2+1)})
	}
	return c, now
}

// Entries that were read for other claims of the batch cost a look each, and no memory: a batch may have thousands of claims.
func TestJudge_CopiesNoHistory(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	const rounds = 50
	c, now := longClaim(20_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		people.Judge(c, now)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each > 20_000 {
		t.Errorf("a claim allocates %d bytes", each)
	}
}

// A history of any length costs a claim nothing that grows with its square.
func BenchmarkJudge_LongHistory(b *testing.B) {
	c, now := longClaim(20_000)
	for b.Loop() {
		people.Judge(c, now)
	}
}
