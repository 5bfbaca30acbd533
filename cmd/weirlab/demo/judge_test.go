package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/channels/simulation"
	"weir/client"
)

// fine returns evidence without faults: a call, an SMS of two messages,
// a contact that failed before it was sent, and one of unknown outcome.
func fine() evidence {
	return evidence{
		Channel: "c", Capacity: 3,
		Contacts: []client.ContactView{
			{ID: "1-1", To: "+15551", Size: 1, Outcome: "busy"}, {ID: "1-2", To: "+15552", Size: 2, Outcome: "completed"},
			{ID: "1-3", To: "+15553", Size: 1, Outcome: "failed"}, {ID: "1-4", To: "+15554", Size: 1, Outcome: "lost"},
		},
		Line: simulation.LineReport{PeakActive: 3},
		Keys: []simulation.KeyReport{taken("1-1", "15551"), taken("1-2.0", "sms://15552"), taken("1-2.1", "sms://15552")},
	}
}

func taken(key, address string) simulation.KeyReport {
	return simulation.KeyReport{Key: key, Address: address, Taken: 1}
}

func TestJudge_FindsEveryFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*evidence)
		want   []string
	}{
		{"nothing wrong", func(*evidence) {}, nil},
		{"over capacity", func(e *evidence) { e.Line.PeakActive = 4 }, []string{"c: 4 in flight, over the capacity of 3"}},
		{"a key twice", func(e *evidence) { e.Keys[0].Taken = 3 }, []string{"c: 2 sent twice"}},
		{
			"the same person under another key", func(e *evidence) {
				e.Keys = append(e.Keys, taken("1-1.7", "+15551"))
			},
			[]string{"c: 1 sent twice"},
		},
		{
			"never sent, said to be completed", func(e *evidence) { e.Contacts[2].Outcome = "completed" },
			[]string{"c: 1 lost"},
		},
		{"never sent, said to be busy", func(e *evidence) { e.Contacts[2].Outcome = "busy" }, []string{"c: 1 lost"}},
		{"a message missing", func(e *evidence) { e.Keys = e.Keys[:2] }, []string{"c: 1 lost"}},
		{"sent and forgotten", func(e *evidence) { e.Contacts = e.Contacts[1:] }, []string{"c: 1 sent twice", "c: 1 at the provider that Weir never acknowledged"}},
		{"not done", func(e *evidence) { e.Contacts[0].Outcome = "" }, []string{"c: 1 not done"}},
		{"not done and never sent", func(e *evidence) { e.Contacts[2].Outcome = "" }, []string{"c: 1 lost", "c: 1 not done"}},
		{
			"never acknowledged", func(e *evidence) {
				e.Keys = append(e.Keys, taken("1-9", "+15553"))
			},
			[]string{"c: 1 at the provider that Weir never acknowledged"},
		},
		{
			"two contacts of one person", func(e *evidence) {
				e.Contacts = append(e.Contacts, client.ContactView{ID: "1-5", To: "+15551", Size: 1, Outcome: "completed"})
				e.Keys = append(e.Keys, taken("1-5", "+15551"))
			}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := fine()
			tt.change(&e)
			f := judge(e)
			if diff := cmp.Diff(tt.want, f.faults()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJudge_CountsPerChannel(t *testing.T) {
	t.Parallel()
	e := fine()
	e.Contacts[0].Outcome = "lost" // the provider has this one
	want := finding{
		Channel: "c", Capacity: 3, Acknowledged: 4, Sent: 2, Units: 3, PeakActive: 3, Unclear: 2, UnclearSent: 1,
		Outcomes: map[weir.Outcome]int{weir.Lost: 2, weir.Completed: 1, weir.Failed: 1},
	}
	if diff := cmp.Diff(want, judge(e)); diff != "" {
		t.Error(diff)
	}
}
