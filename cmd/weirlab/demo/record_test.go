package demo

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/channels/simulation"
	"weir/client"
)

// proven returns a record in which a message reached a person, another was suppressed, and one
// waits; the function changes what is observed.
func proven(change func(*observation)) proof {
	o := observation{
		ids:  []string{"1-1", "1-2", "1-3"},
		line: simulation.LineReport{Sent: 1, PeakActive: 2},
		keys: []simulation.KeyReport{reached("1-1.0", "15551", 10)},
		done: []client.ContactView{ended("1-1", "completed", 12), ended("1-2", "suppressed", 5)},
		at:   20,
	}
	change(&o)
	r := newRecord(newRefusals(), newTalks(1), []*channel{{name: texts, provider: nuntiumName, capacity: 2}})
	r.refusals.heard("sms://15559", "stop ", instant(1)) // no stop word of the demo
	r.refusals.heard("sms://15552", " STOP", instant(4))
	r.readAt = instant(0)
	r.accepted(texts, o.ids, instant(0))
	r.observed(texts, o.line, o.keys, 1)
	r.judge(o.done, instant(o.at))
	r.judge(o.done, instant(o.at)) // lists overlap
	for _, id := range o.gone {
		r.unknown(id, instant(o.at))
	}
	return r.proof(instant(o.at))
}

type observation struct {
	ids, gone []string
	line      simulation.LineReport
	keys      []simulation.KeyReport
	done      []client.ContactView
	at        float64
}

func instant(seconds float64) time.Time {
	return epoch().Add(time.Duration(seconds * float64(time.Second)))
}

func reached(key, address string, at float64) simulation.KeyReport {
	return simulation.KeyReport{Key: key, Address: "sms://" + address, Taken: 1, At: instant(at)}
}

func ended(id, outcome string, at float64) client.ContactView {
	c := client.ContactView{ID: id, Channel: texts, Size: 1, Outcome: outcome, FinishedAt: instant(at)}
	if outcome == "suppressed" {
		c.Rule = "consent"
	}
	return c
}

func TestRecord_FindsEveryFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*observation)
		want   []string
	}{
		{"nothing wrong", func(*observation) {}, nil},
		{"over capacity", func(o *observation) { o.line.PeakActive = 3 }, []string{"texts: 3 in flight, over the capacity of 2"}},
		{"a key twice", func(o *observation) { o.line.Doubled = 1 }, []string{"texts: 1 sent twice"}},
		{"a contact under two keys", func(o *observation) { o.keys = append(o.keys, reached("1-1.7", "15551", 11)) }, []string{"texts: 1 sent twice"}},
		{"said to be completed, never sent", func(o *observation) { o.keys = nil }, []string{"texts: 1 lost"}},
		{"accepted and gone", func(o *observation) { o.gone = []string{"1-3"} }, []string{"texts: 1 lost"}},
		{"sent and never accepted", func(o *observation) { o.keys = append(o.keys, reached("1-9.0", "15550", 1)); o.gone = []string{"1-9"} }, []string{"texts: 1 at the provider that Weir never acknowledged"}},
		{"sent after its end", func(o *observation) { o.done[0].FinishedAt = instant(7) }, []string{"texts: 1 at the provider that Weir never acknowledged"}},
		{"of unknown outcome", func(o *observation) { o.done[0].Outcome = "lost" }, nil},
		{"sent while the refusal arrived", func(o *observation) { o.keys[0] = reached("1-1.0", "15552", 5.9) }, nil},
		{"sent after the refusal", func(o *observation) { o.keys[0] = reached("1-1.0", "15552", 6.1) }, []string{"1 contact reached people who had refused"}},
		{"sent to one who said something else", func(o *observation) { o.keys[0] = reached("1-1.0", "15559", 10) }, nil},
		{"never read", func(o *observation) { o.at = 61 }, []string{"Weir's list of what is done could not be read for 1m0s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, proven(tt.change).Faults); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecord_CountsOnce(t *testing.T) {
	t.Parallel()
	want := proof{
		Channels: []channelProof{{Channel: texts, Provider: nuntiumName, Accepted: 3, Done: 2, Sent: 1, Peak: 2, Capacity: 2, Suppressed: 1}},
		Rules:    []ruled{{"consent", "contacts suppressed", 1}}, Refused: 1,
	}
	if diff := cmp.Diff(want, proven(func(*observation) {})); diff != "" {
		t.Error(diff)
	}
}

// Two thousand contacts, five a second: what is kept is that of some minutes, and a contact that
// is sent again after its key was forgotten still counts as doubled.
func TestRecord_StaysSmall(t *testing.T) {
	t.Parallel()
	tally := simulation.NewTally()
	r := newRecord(newRefusals(), newTalks(1), []*channel{{name: texts, provider: nuntiumName, capacity: 1}})
	now, most := time.Now().Add(time.Hour), 0 // the tally's clock is the real one; what ended an hour ago is old
	for second := range 400 {
		var done []client.ContactView
		for i := range 5 {
			id := fmt.Sprintf("1-%d", second*5+i)
			r.accepted(texts, []string{id}, now)
			tally.Begin("main", id+".0", "1555"+id, 1)
			tally.End("main", id+".0")
			done = append(done, client.ContactView{ID: id, Channel: texts, Size: 1, Outcome: "completed", FinishedAt: now})
		}
		r.observed(texts, tally.Line("main"), tally.Keys("main"), 0)
		r.judge(done, now)
		r.forget(tally, "main", now)
		most = max(most, r.size(), len(tally.Keys("main")))
		now = now.Add(time.Second)
	}
	if limit := int(judgedFor.Seconds())*5 + 50; most > limit {
		t.Errorf("it held %d entries at one time; want at most %d", most, limit)
	}
	if p := r.proof(now); p.Channels[0].Done != 2000 || p.Channels[0].Sent != 2000 || p.Channels[0].Lost+p.Channels[0].Doubled != 0 {
		t.Errorf("it counted %+v", p.Channels[0])
	}
	tally.Begin("main", "1-0.0", "15551-0", 1)
	r.observed(texts, tally.Line("main"), nil, 0)
	if p := r.proof(now); p.Channels[0].Doubled != 1 {
		t.Errorf("a contact that is sent again after its key was forgotten counts as doubled %d times", p.Channels[0].Doubled)
	}
}

func TestRecord_AsksForWhatIsOverdueOnce(t *testing.T) {
	t.Parallel()
	r := newRecord(newRefusals(), newTalks(1), []*channel{{name: texts, capacity: 1}})
	r.accepted(texts, []string{"1-1"}, instant(0))
	r.accepted(texts, []string{"1-2"}, instant(100))
	r.observed(texts, simulation.LineReport{}, []simulation.KeyReport{reached("1-3.0", "15551", 0), {Key: "1-4.0", Active: 1, At: instant(0)}}, 0)
	if got := r.doubtful(instant(60)); got != nil {
		t.Errorf("it asks for %v at once", got)
	}
	want := map[string]bool{"1-1": true, "1-3": true}
	got := map[string]bool{}
	for _, id := range append(r.doubtful(instant(130)), r.doubtful(instant(131))...) {
		if got[id] {
			t.Errorf("it asks for %s twice", id)
		}
		got[id] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals_RememberThoseWhoRefusedLatest(t *testing.T) {
	t.Parallel()
	r := newRefusals()
	for i := range maxRefusals + 1 {
		r.heard(fmt.Sprintf("1555%07d", i), stopWord, instant(0))
	}
	people, total := r.people()
	if len(people) != maxRefusals || total != maxRefusals+1 || r.refused("+15550000000") || !r.refused("+15550000001") || r.latest() != people[len(people)-1] {
		t.Errorf("%d of %d are remembered, the latest is %s", len(people), total, r.latest())
	}
}
