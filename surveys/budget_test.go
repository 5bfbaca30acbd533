package surveys_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"weir"
	"weir/limits"
	"weir/surveys"
	"weir/surveys/calendar"
)

// What is next for a respondent of the model below.
type stand int

const (
	waits   stand = iota // pending, or its contact waits for money
	flies                // in flight
	answers              // reached, until the next attempt is due
	ended
)

// A survey goes on while a contact can be paid for or may give money back, ends otherwise, and
// never spends more than its budget.
func TestBudgetCheck_ASurveyEndsWhenNobodyCanBePaidFor(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 343))
		most := limits.Money(r.IntN(40))
		rules := &limits.SurveyBudget{Budget: limits.Budget{Money: most.String(), Currency: "USD"}}
		use := limits.NewBudget("s", rules, 0)
		costs, states, tries := make([]limits.Money, 1+r.IntN(12)), make([]stand, 12), 1+r.IntN(3)
		for i := range costs {
			costs[i] = limits.Money(1 + r.IntN(9))
		}
		made := make([]int, len(costs))
		affordable := func() (n int, busy bool) {
			for i, c := range costs {
				if states[i] == waits && use.SpentInAll()+c <= most {
					n++
				}
				busy = busy || states[i] == flies || states[i] == answers
			}
			return n, busy
		}
		for step := 0; ; step++ {
			if step > 10_000 {
				t.Fatalf("seed %d: it does not end", seed)
			}
			check := surveys.BudgetCheck{Left: most - use.SpentInAll()}
			for i, c := range costs {
				if states[i] != ended && check.Add(surveys.Active, surveys.Need{Free: states[i] != waits, Cost: c}) {
					break
				}
			}
			n, busy := affordable()
			if goesOn := n > 0 || busy; check.GoesOn != goesOn {
				t.Fatalf("seed %d: with %d who can be paid for, others in flight %v, it goes on: %v", seed, n, busy, check.GoesOn)
			}
			if !check.GoesOn {
				break
			}
			i := r.IntN(len(costs))
			switch want := (limits.Demand{Cost: costs[i], Currency: "USD"}); states[i] {
			case waits:
				use.Begin()
				if h, ok := use.Room("s", &want, 0, time.Unix(0, 0)); ok {
					use.Take(&want, time.Unix(0, 0))
					use.Committed()
					use.Spend(0, want.Cost)
					states[i] = flies
				} else if h.Rule != limits.RuleBudget || h.Channel {
					t.Fatalf("seed %d: it is held by %+v", seed, h)
				}
			case flies: // it may have cost less
				use.Spend(0, -limits.Money(r.IntN(int(costs[i])+1)))
				states[i] = answers
			case answers:
				if made[i]++; made[i] < tries {
					states[i] = waits
				} else {
					states[i] = ended
				}
			case ended:
			}
			if use.SpentInAll() > most {
				t.Fatalf("seed %d: %s of %s spent", seed, use.SpentInAll(), most)
			}
		}
	}
}

// What a respondent needs follows from the next step: nothing while a contact is open or an answer
// may come, otherwise the price of the attempt.
func TestPlan_NeedOfTheNextContact(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	plan, wrong := smsDefinition().Compile(surveys.Defaults{Batch: 10, LimitPerMinute: 100, InitialSuccessRate: 1})
	if plan == nil {
		t.Fatal(wrong)
	}
	cost := func(surveys.Mode, *weir.Spec) (limits.Money, bool) { return 7, true }
	unknown := func(surveys.Mode, *weir.Spec) (limits.Money, bool) { return 0, false }
	person := surveys.Person{ID: "r1", Phone: "+15550100", Attributes: map[string]string{"name": "Ana"}}
	active := func(contact surveys.Stage, due time.Time) surveys.Progress {
		return surveys.Progress{Status: surveys.Active, Disposition: surveys.Queued, Tries: 1, Serial: 1, Contact: contact, DueAt: due}
	}
	for name, x := range map[string]struct {
		p      surveys.Progress
		person surveys.Person
		cost   surveys.Cost
		want   surveys.Need
	}{
		"pending":                     {surveys.NewProgress(), person, cost, surveys.Need{Cost: 7}},
		"a channel without a price":   {surveys.NewProgress(), person, unknown, surveys.Need{Free: true}},
		"a missing value":             {surveys.NewProgress(), surveys.Person{ID: "r1", Phone: "+15550100"}, cost, surveys.Need{Free: true}},
		"in flight":                   {active(surveys.Dispatched, now.Add(-time.Hour)), person, cost, surveys.Need{Free: true}},
		"an answer may come":          {active(surveys.Idle, now.Add(time.Hour)), person, cost, surveys.Need{Free: true}},
		"a retry is due":              {active(surveys.Idle, now), person, cost, surveys.Need{Cost: 7}},
		"nothing is left to try":      {func() surveys.Progress { p := active(surveys.Idle, now); p.Tries = 2; return p }(), person, cost, surveys.Need{Free: true}},
		"of another plan's many arms": {func() surveys.Progress { p := active(surveys.Idle, now); p.Arm = 3; return p }(), person, cost, surveys.Need{Free: true}},
	} {
		if got := plan.NeedOf("s", x.person, x.p, now, 0, x.cost); got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}

// smsDefinition is a survey by text with one retry.
func smsDefinition() surveys.Definition {
	return surveys.Definition{
		Schedule:       office("UTC", calendar.WindowSpec{From: "00:00", To: "24:00"}),
		Modes:          map[surveys.Mode]surveys.ModeSpec{surveys.SMS: {Channel: "texts", Retries: "1h"}},
		Arms:           []surveys.Arm{{Modes: []surveys.Mode{surveys.SMS}}},
		Questionnaires: map[string]map[surveys.Mode][]surveys.Content{"q": {surveys.SMS: {{Messages: []string{"Hello {{name}}"}}}}},
	}
}
