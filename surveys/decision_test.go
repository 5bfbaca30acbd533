package surveys_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/operators"
	"weir/surveys"
)

// planWithTarget returns a plan with a cutoff, an initial success rate and quotas.
func planWithTarget(t *testing.T, cutoff int, rate float64, q surveys.Quotas) *surveys.Plan {
	t.Helper()
	d := definition()
	d.Cutoff, d.InitialSuccessRate, d.Quotas = cutoff, &rate, q
	return plan(t, d)
}

// Scenarios 78 and 80, and the examples of the rule.
func TestDecision_SizesTheBatchByTheRate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cutoff int
		rate   float64
		quotas surveys.Quotas
		tally  surveys.Tally
		want   int
	}{
		{"no target", 0, 1, nil, surveys.Tally{Counted: 7}, 10_000},
		{"nothing done, one in ten", 1000, 0.1, nil, surveys.Tally{}, 10_000},
		{"half done", 1000, 0.1, nil, surveys.Tally{Counted: 500, Completed: 500, Final: 2500}, 3333},
		{"all succeed", 50, 1, nil, surveys.Tally{}, 50},
		{"after 30 completed and 20 failed", 50, 1, nil, surveys.Tally{Counted: 30, Completed: 30, Final: 50}, 26},
		{"cut-off 50, one in ten", 50, 0.1, nil, surveys.Tally{}, 500},
		{"rate 0, nothing done", 50, 0, nil, surveys.Tally{}, 10_000},
		{"rate 0 and a large target", 20_000, 0, nil, surveys.Tally{}, 20_000},
		{"rate 0, the first completed", 50, 0, nil, surveys.Tally{Counted: 1, Completed: 1, Final: 10}, 24_500},
		{"rate 0, none missing", 50, 0, nil, surveys.Tally{Counted: 50}, 0},
		{"more than wanted", 50, 1, nil, surveys.Tally{Counted: 60, Completed: 60, Final: 60}, 0},
		{"quotas", 0, 1, quotas(), surveys.Tally{Buckets: []int{9, 0, 0}, Completed: 9, Final: 9}, 2},
		{"quotas below the cut-off", 10, 1, quotas(), surveys.Tally{Buckets: []int{2, 1, 0}, Completed: 3, Final: 3}, 7},
	} {
		if got := planWithTarget(t, tt.cutoff, tt.rate, tt.quotas).BatchSize(tt.tally); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Scenario 78: with 30 of 50 counted and no disposition to learn a rate from, 20
// more are started.
func TestDecision_StartsWhatIsMissing(t *testing.T) {
	t.Parallel()
	pl := planWithTarget(t, 50, 1, nil)
	if v := pl.Decide(start(), surveys.Tally{Pending: 100, Counted: 30}); v.ToStart != 20 {
		t.Errorf("%d are started", v.ToStart)
	}
}

// Respondents who refused or are ineligible have the status completed but count for no
// cutoff. However many there are, a survey that needs more and has nobody in progress
// starts some: otherwise it would wait for ever.
func TestDecision_SurveyThatNeedsMoreStartsSome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := definition()
		d.CountPartial = rapid.Bool().Draw(t, "count partial")
		if rapid.Bool().Draw(t, "quotas") {
			d.Quotas = quotas()
		}
		d.Cutoff = rapid.IntRange(0, 40).Draw(t, "cutoff")
		rate := rapid.Float64Range(0, 1).Draw(t, "initial success rate")
		d.InitialSuccessRate = &rate
		sums := surveys.Sums{Respondents: map[surveys.Group]int{
			{Status: surveys.Pending, Disposition: surveys.Registered, Bucket: surveys.NoBucket}: rapid.IntRange(1, 50).Draw(t, "pending"),
		}}
		for range rapid.IntRange(0, 8).Draw(t, "groups") {
			g := surveys.Group{
				Status:      rapid.SampledFrom([]surveys.Status{surveys.Completed, surveys.Failed, surveys.Rejected}).Draw(t, "status"),
				Disposition: rapid.SampledFrom([]surveys.Disposition{surveys.Complete, surveys.Partial, surveys.Breakoff, surveys.Ineligible, surveys.Refused}).Draw(t, "disposition"),
				Bucket:      rapid.IntRange(surveys.NoBucket, len(d.Quotas)-1).Draw(t, "bucket"),
			}
			g.Counted = g.Disposition.Counts(d.CountPartial)
			sums.Respondents[g] += rapid.IntRange(1, 20).Draw(t, "respondents")
		}
		tally := sums.Tally(len(d.Quotas))
		if got := plan(t, d).Decide(start(), tally); !got.Done && got.ToStart == 0 {
			t.Fatalf("%+v with cutoff %d: %+v", tally, d.Cutoff, got)
		}
	})
}

// Scenario 77: no target, batch 10, 21 respondents.
func TestDecision_RefillsTheBatch(t *testing.T) {
	t.Parallel()
	d := definition()
	d.BatchSize = 10
	pl := plan(t, d)
	for _, tt := range []struct {
		tally surveys.Tally
		want  int
	}{
		{surveys.Tally{Pending: 21}, 10},
		{surveys.Tally{Pending: 11, Active: 10}, 0},
		{surveys.Tally{Pending: 11, Active: 9, Final: 1}, 1},
		{surveys.Tally{Pending: 3, Active: 0, Final: 18}, 3},
		{surveys.Tally{Pending: 3, Active: 12, Final: 18}, 0},
	} {
		if got := pl.Decide(start(), tt.tally); got.ToStart != tt.want || got.Done || got.Stop || got.Why.IsZero() != (tt.want > 0) {
			t.Errorf("%+v: %+v, want %d", tt.tally, got, tt.want)
		}
	}
}

// Scenarios 79 and 87: when a survey has enough, when it is done, and when it is
// stopped.
func TestDecision_EndsASurvey(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Schedule = office("UTC")
	d.Schedule.EndDate = "2026-01-06"
	d.Cutoff, d.Quotas = 5, quotas()
	pl := plan(t, d)
	night := start().Add(8 * time.Hour)
	over := time.Date(2026, 1, 6, 17, 5, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		now   time.Time
		tally surveys.Tally
		want  surveys.Decision
	}{
		{"runs", start(), surveys.Tally{Pending: 9, Active: 1}, surveys.Decision{ToStart: 4}},
		{"cut-off, some active", start(), surveys.Tally{Pending: 9, Active: 1, Counted: 5}, surveys.Decision{Why: operators.Why{Code: operators.WhyTarget}}},
		{"cut-off, none active", start(), surveys.Tally{Pending: 9, Counted: 5}, surveys.Decision{Done: true}},
		{"one bucket is full", start(), surveys.Tally{Pending: 9, Counted: 2, Completed: 2, Final: 2, Buckets: []int{2, 0, 0}}, surveys.Decision{ToStart: 3}},
		{"all buckets full, some active", start(), surveys.Tally{Pending: 9, Active: 2, Counted: 4, Buckets: []int{2, 1, 1}}, surveys.Decision{Why: operators.Why{Code: operators.WhyTarget}}},
		{"all buckets full", start(), surveys.Tally{Pending: 9, Counted: 4, Buckets: []int{2, 1, 1}}, surveys.Decision{Done: true}},
		{"none left", start(), surveys.Tally{Final: 9}, surveys.Decision{Done: true}},
		{"none left at night", night, surveys.Tally{Final: 9}, surveys.Decision{Done: true}},
		{"night", night, surveys.Tally{Pending: 9}, surveys.Decision{Why: operators.Why{Code: operators.WhyWindow}}},
		{"in its grace", over.Add(-1), surveys.Tally{Pending: 9, Active: 1}, surveys.Decision{Why: operators.Why{Code: operators.WhyWindow}}},
		{"over", over, surveys.Tally{Pending: 9, Active: 1}, surveys.Decision{Stop: true}},
		{"over, none active", over, surveys.Tally{Pending: 9}, surveys.Decision{Stop: true}},
	} {
		got := pl.Decide(tt.now, tt.tally)
		if got.Why.IsZero() != (got.Why.Text() == "") {
			t.Errorf("%s: %+v", tt.name, got.Why)
		}
		got.Why.Clauses = nil
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// The estimate is when the last respondent has gone through all retries, if nobody answers.
func TestDecision_EstimateAssumesThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	d := definition() // calls after 10 m and 2 h, then texts after 2 h and 2 h more
	d.Schedule = office("UTC")
	pl := plan(t, d)
	first, _, err := pl.Start(surveys.NewProgress(), start(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := endOf(t, pl, first)
	last := first
	last.Step, last.Tries, last.Contact, last.DueAt = len(pl.Arms[0].Modes)-1, 9, surveys.Idle, start().Add(time.Hour)
	undue := last
	undue.DueAt = time.Time{}
	for _, tt := range []struct {
		name   string
		tally  surveys.Tally
		pace   surveys.Pace
		latest []surveys.Progress
		want   time.Time
		ok     bool
	}{
		{"nothing left", surveys.Tally{Final: 3}, surveys.Pace{}, nil, start(), true},
		{"all started", surveys.Tally{Active: 1}, surveys.Pace{}, []surveys.Progress{first}, ends, true},
		{"no attempt left", surveys.Tally{Active: 1}, surveys.Pace{}, []surveys.Progress{last}, start().Add(time.Hour), true},
		{"no step is due", surveys.Tally{Active: 1}, surveys.Pace{}, []surveys.Progress{undue}, start(), true},
		{"to be started at once", surveys.Tally{Pending: 1, Active: 1}, surveys.Pace{Started: 1e9}, []surveys.Progress{last}, ends, true},
		{"none was started", surveys.Tally{Pending: 1}, surveys.Pace{}, nil, time.Time{}, false},
		{"hardly any was started", surveys.Tally{Pending: 1}, surveys.Pace{Started: 1e-300}, nil, time.Time{}, false},
		{"beyond the batch, none has ended", surveys.Tally{Pending: 1e9, Active: pl.Batch}, surveys.Pace{Started: 100}, []surveys.Progress{first}, time.Time{}, false},
	} {
		got, ok := pl.EndsAt(start(), tt.tally, tt.pace, tt.latest)
		if ok != tt.ok || ok && got.Sub(tt.want).Abs() > time.Second {
			t.Errorf("%s: %v %v, want %v", tt.name, got, ok, tt.want)
		}
	}
	later := func(tally surveys.Tally, pace surveys.Pace) time.Duration {
		got, _ := pl.EndsAt(start(), tally, pace, nil)
		return got.Sub(ends)
	}
	if got := later(surveys.Tally{Pending: 120}, surveys.Pace{Started: 2}); got < time.Hour {
		t.Errorf("120 respondents are started at 2 a minute: %v later", got)
	}
	if got := later(surveys.Tally{Pending: pl.Batch + 60, Active: pl.Batch}, surveys.Pace{Started: 1e9, Ended: 10 * float64(pl.Batch)}); got < time.Hour {
		t.Errorf("the limit a minute: %v later", got)
	}
	if got := later(surveys.Tally{Pending: 60, Active: pl.Batch}, surveys.Pace{Started: 1e9, Ended: 1}); got < time.Hour {
		t.Errorf("60 wait for a place in the batch, at 1 a minute: %v later", got)
	}
	d.Schedule.EndDate, d.Cutoff = "2026-01-07", 10
	pl = plan(t, d)
	if got, ok := pl.EndsAt(start(), surveys.Tally{Pending: 1_000_000}, surveys.Pace{Started: 0.001}, nil); !ok || got.Day() != 7 {
		t.Errorf("with an end: %v %v", got, ok)
	}
	closes, _ := pl.Schedule.LastClose()
	for now := closes.Add(-2 * time.Hour); now.Before(closes.Add(2 * time.Hour)); now = now.Add(10 * time.Minute) {
		for _, tally := range []surveys.Tally{{Pending: 1_000_000}, {Pending: 1, Active: 1}, {Active: 1}} {
			got, ok := pl.EndsAt(now, tally, surveys.Pace{Started: 0.001}, []surveys.Progress{last})
			if ok != !now.After(closes) || ok && (got.Before(now) || got.After(closes)) {
				t.Errorf("%+v at %v, whose last window closes at %v: %v %v", tally, now, closes, got, ok)
			}
		}
	}
	if got, ok := pl.EndsAt(start(), surveys.Tally{Pending: 9, Active: 1, Counted: 10}, surveys.Pace{}, []surveys.Progress{last}); !ok || !got.Equal(start().Add(time.Hour)) {
		t.Errorf("after the cutoff: %v %v", got, ok)
	}
}

// endOf lets a respondent go through all attempts, of which each fails at once, and
// checks that the estimated end does not move meanwhile.
func endOf(t *testing.T, pl *surveys.Plan, p surveys.Progress) time.Time {
	t.Helper()
	now := start()
	var estimates []time.Time
	for p.Status == surveys.Active {
		p, _ = pl.ApplyOutcome(p, now, p.Serial, weir.NoAnswer)
		if p.Status != surveys.Active {
			break
		}
		end, ok := pl.EndsAt(now, surveys.Tally{Active: 1}, surveys.Pace{}, []surveys.Progress{p})
		if !ok {
			t.Fatal("no estimate")
		}
		estimates = append(estimates, end)
		now = p.DueAt
		p, _ = pl.Timeout(p, now)
	}
	if len(estimates) < 3 {
		t.Fatalf("%d attempts", len(estimates))
	}
	for _, e := range estimates {
		if !e.Equal(estimates[0]) {
			t.Errorf("the estimate moves: %v", estimates)
		}
	}
	return estimates[0]
}

func TestDecision_CutoffIsReachedByItsLastRespondent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cutoff, counted int
		want            bool
	}{{10, 9, false}, {10, 10, true}, {10, 11, true}, {0, 0, false}, {0, 10, false}} {
		d := definition()
		d.Cutoff = tt.cutoff
		if got := plan(t, d).Enough(surveys.Tally{Counted: tt.counted}); got != tt.want {
			t.Errorf("%d of a cutoff of %d are enough: %v", tt.counted, tt.cutoff, got)
		}
	}
}

func TestDecision_TellsHowManyNumbersAreNeeded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cutoff int
		tally  surveys.Tally
		want   int
		ok     bool
	}{
		"at a rate of a quarter":    {100, surveys.Tally{Final: 40, Completed: 10, Counted: 10, Pending: 60, Active: 20}, 280, true},
		"there are enough":          {100, surveys.Tally{Final: 40, Completed: 10, Counted: 10, Pending: 1000}, 0, true},
		"the target is reached":     {10, surveys.Tally{Final: 40, Completed: 10, Counted: 10}, 0, true},
		"some are counted already":  {100, surveys.Tally{Final: 10, Completed: 10, Counted: 10, Active: 20, Secured: 5}, 75, true},
		"no success yet":            {100, surveys.Tally{Final: 40, Pending: 60}, 0, false},
		"everyone is to be reached": {0, surveys.Tally{Final: 40, Completed: 10, Counted: 10}, 0, false},
	} {
		d := definition()
		d.Cutoff = tt.cutoff
		if n, ok := plan(t, d).NumbersNeeded(tt.tally); n != tt.want || ok != tt.ok {
			t.Errorf("%s: %d %v, want %d", name, n, ok, tt.want)
		}
	}
}
