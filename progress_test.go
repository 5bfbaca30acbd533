package weir_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
)

var (
	t0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	t1 = time.Date(2026, 3, 1, 9, 1, 0, 0, time.UTC)
	t2 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
)

var states = []weir.State{weir.Queued, weir.Delayed, weir.Sending, weir.Active, weir.Unknown, weir.Done}

// in returns a progress in a state, with all fields set that it can have in that
// state.
func in(s weir.State) weir.Progress {
	p := weir.Progress{Rev: 5, State: s, Attempt: 2, Failures: 1}
	switch {
	case s == weir.Delayed:
		p.DueAt = t2
	case s.InFlight():
		p.ClaimedAt, p.SentAt, p.HeardAt, p.ProviderRef, p.Parts = t0, t0, t0, "ref", ".."
	case s == weir.Done:
		p.Outcome, p.FinishedAt, p.Parts = weir.Failed, t0, "fd"
	}
	return p
}

// TestProgress_AllowsOnlyTheTransitionsOfTheTable checks the whole table: every method in every state.
func TestProgress_AllowsOnlyTheTransitionsOfTheTable(t *testing.T) {
	t.Parallel()
	const no = weir.State(0)
	two := func(p weir.Progress, err error) (weir.Progress, error) { return p, err }
	methods := []struct {
		name string
		do   func(weir.Progress) (weir.Progress, error)
		to   [6]weir.State // in the order of states
	}{
		{"Ready", weir.Progress.Ready, [6]weir.State{no, weir.Queued, no, no, no, no}},
		{"Claim", func(p weir.Progress) (weir.Progress, error) { return two(p.Claim(t1)) }, [6]weir.State{weir.Sending, no, no, no, no, no}},
		{"Unclaim", weir.Progress.Unclaim, [6]weir.State{no, no, weir.Queued, no, no, no}},
		{"Accept", func(p weir.Progress) (weir.Progress, error) { return p.Accept(t1, "new") }, [6]weir.State{no, no, weir.Active, weir.Active, weir.Active, no}},
		{"MarkUnknown", func(p weir.Progress) (weir.Progress, error) { return p.MarkUnknown("x") }, [6]weir.State{no, no, weir.Unknown, no, no, no}},
		{"Requeue", func(p weir.Progress) (weir.Progress, error) { q, _, err := p.Requeue(t1, t1, "x"); return q, err },
			[6]weir.State{no, no, weir.Queued, weir.Queued, weir.Queued, no}},
		{"Requeue later", func(p weir.Progress) (weir.Progress, error) { q, _, err := p.Requeue(t1, t2, "x"); return q, err },
			[6]weir.State{no, no, weir.Delayed, weir.Delayed, weir.Delayed, no}},
		{"ReportPart", func(p weir.Progress) (weir.Progress, error) {
			q, _, err := p.ReportPart(t1, 2, 0, weir.PartDelivered)
			return q, err
		},
			[6]weir.State{no, no, weir.Active, weir.Active, weir.Active, no}},
		{"RequestCancel", weir.Progress.RequestCancel, [6]weir.State{no, no, weir.Sending, weir.Active, weir.Unknown, no}},
		{"Finish", func(p weir.Progress) (weir.Progress, error) { return p.Finish(t1, weir.Completed, "") },
			[6]weir.State{weir.Done, weir.Done, weir.Done, weir.Done, weir.Done, no}},
		{"Finish without outcome", func(p weir.Progress) (weir.Progress, error) { return p.Finish(t1, "", "") }, [6]weir.State{}},
	}
	for _, m := range methods {
		for i, s := range states {
			t.Run(fmt.Sprintf("%s/%d", m.name, s), func(t *testing.T) {
				t.Parallel()
				before := in(s)
				after, err := m.do(before)
				if m.to[i] == no {
					if !errors.Is(err, weir.ErrTransition) || !cmp.Equal(before, after) {
						t.Fatalf("error %v, changed: %s", err, cmp.Diff(before, after))
					}
					return
				}
				if err != nil || after.State != m.to[i] || after.Rev != before.Rev+1 {
					t.Fatalf("to %v, revision %d, error %v; want %v, %d", after.State, after.Rev, err, m.to[i], before.Rev+1)
				}
			})
		}
	}
}

func TestProgress_TransitionsFillTheirFields(t *testing.T) {
	t.Parallel()
	base := func(change func(*weir.Progress)) weir.Progress { p := in(weir.Sending); change(&p); return p }
	check := func(name string, got weir.Progress, err error, want weir.Progress) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	got, err := in(weir.Queued).Claim(t1)
	check("Claim", got, err, weir.Progress{Rev: 6, State: weir.Sending, Attempt: 3, Failures: 1, ClaimedAt: t1})
	got, err = got.Unclaim()
	check("Unclaim", got, err, weir.Progress{Rev: 7, State: weir.Queued, Attempt: 2, Failures: 1})
	got, err = in(weir.Sending).Accept(t1, "")
	check("Accept keeps what is known", got, err, base(func(p *weir.Progress) { p.Rev, p.State, p.HeardAt = 6, weir.Active, t1 }))
	got, ended, err := in(weir.Unknown).Requeue(t1, t2, "absent")
	check("Requeue", got, err, weir.Progress{Rev: 6, State: weir.Delayed, DueAt: t2, Attempt: 2, Failures: 1, ClaimedAt: t0, SentAt: t0, HeardAt: t0, Reason: "absent"})
	want := weir.Attempt{Number: 2, ClaimedAt: t0, SentAt: t0, HeardAt: t0, FinishedAt: t1, ProviderRef: "ref", Reason: "absent"}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Errorf("the ended attempt: %s", diff)
	}
	got, err = in(weir.Delayed).Finish(t1, weir.Expired, "late")
	check("Finish", got, err, weir.Progress{Rev: 6, State: weir.Done, Attempt: 2, Failures: 1, FinishedAt: t1, Outcome: weir.Expired, Reason: "late"})
	if p := weir.NewProgress(t1, t2); p.State != weir.Delayed || !p.DueAt.Equal(t2) {
		t.Errorf("Fresh before its instant: %+v", p)
	}
	if p := weir.NewProgress(t1, t1); p.State != weir.Queued || !p.DueAt.IsZero() {
		t.Errorf("Fresh at its instant: %+v", p)
	}
}

func TestProgress_KeepsADeliveredPart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		parts   string
		part    int
		state   byte
		want    string
		changed bool
		refused bool
	}{
		{"", 1, 'd', ".d.", true, false},
		{".d.", 1, 'd', ".d.", false, false},
		{".d.", 1, 'f', ".d.", false, false}, // delivered is kept
		{".f.", 1, 'd', ".d.", true, false},  // a failover route succeeded
		{"ddd", 3, 'd', "ddd", false, true},
		{"ddd", -1, 'd', "ddd", false, true},
	}
	for _, tt := range tests {
		p := weir.Progress{State: weir.Unknown, Parts: tt.parts}
		got, changed, err := p.ReportPart(t1, 3, tt.part, tt.state)
		if got.Parts != tt.want || changed != tt.changed || (err != nil) != tt.refused {
			t.Errorf("%q part %d %c: %q %v %v", tt.parts, tt.part, tt.state, got.Parts, changed, err)
		}
	}
	for parts, want := range map[string]weir.Outcome{"": "", "d.": "", "dd": weir.Completed, "df": weir.Failed} {
		if got, ok := (weir.Progress{Parts: parts}).PartsOutcome(); got != want || ok != (want != "") {
			t.Errorf("outcome of %q: %q %v", parts, got, ok)
		}
	}
}

func TestProgress_CorrectsAFailedPartOnce(t *testing.T) {
	t.Parallel()
	p := weir.Progress{Rev: 1, State: weir.Done, Outcome: weir.Failed, Parts: "ffd", Reason: "x"}
	p, changed := p.CorrectPart(0)
	if !changed || p.Outcome != weir.Failed || p.Parts != "dfd" || p.Reason != "x" || p.Rev != 2 {
		t.Fatalf("%+v", p)
	}
	for _, part := range []int{0, 2, 3, -1} {
		if _, changed := p.CorrectPart(part); changed {
			t.Fatalf("part %d changed", part)
		}
	}
	p, changed = p.CorrectPart(1)
	if !changed || p.Outcome != weir.Completed || p.Reason != "" || p.Slots(3) != 0 {
		t.Fatalf("%+v", p)
	}
	if _, changed := p.CorrectPart(1); changed {
		t.Fatalf("a completed contact changed")
	}
}

// Whatever is reported, the number of a contact's slots never grows.
func TestProgress_SlotsNeverGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		p := weir.Progress{State: weir.Sending}
		for range rapid.IntRange(0, 12).Draw(t, "reports") {
			before := p.Slots(size)
			q, _, err := p.ReportPart(t1, size, rapid.IntRange(-1, 5).Draw(t, "part"), rapid.SampledFrom([]byte("df")).Draw(t, "state"))
			if after := q.Slots(size); err == nil && (after > before || before-after > 1) {
				t.Fatalf("from %d slots to %d", before, after)
			}
			p = q
		}
	})
}
