package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"weir/internal/polling"
)

const (
	cappedPeople  = 60
	cappedAt      = 2  // contacts of a person; four are asked for
	newPeople     = 40 // of whom so many may be contacted
	limitInFlight = capacity / 2
	limitPoints   = 4
	limitStrike   = 3 * time.Second
)

// TestLimits_AreNotExceededDespiteKills kills the program before and after claims are stored.
// No person gets more contacts than the cap allows, no more people are contacted and no more
// contacts are in flight than the limit allows; and nothing is forgotten: both are used up.
func TestLimits_AreNotExceededDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 11))
			o := newSMS(t, capacity)
			r := newRig(t, database(t, store), from, false, o)
			r.api.insist(http.MethodPut, "/v1/purposes/research", map[string]any{"caps": []map[string]any{{"max": cappedAt, "within": "7d"}}}, http.StatusCreated, nil)
			r.api.insist(http.MethodPut, "/v1/limits/account", map[string]any{"channels": []string{o.channel}, "in_flight": limitInFlight, "new_people_per_day": newPeople}, http.StatusCreated, nil)
			r.loads[0].post(limited(r.loads[0]), false)
			for n := range limitPoints * max(1, size().cell/4) {
				r.broker.kill()
				point := []string{"claim.before", "claim.committed", "send.before", "ref.before"}[n%limitPoints]
				r.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(6)))
				if err := r.broker.died(limitStrike); err != nil {
					t.Log(err) // everything that may go has gone
				}
			}
			r.broker.kill()
			r.broker.start("")
			r.broker.up()
			r.checkLimits(o)
			r.broker.terminate()
		})
	}
}

// limited returns twice as many contacts of each person as the cap allows.
func limited(l *load) []map[string]any {
	batch := l.fresh(cappedPeople * 2 * cappedAt)
	for i := range batch {
		batch[i]["to"], batch[i]["priority"], batch[i]["purpose"] = fmt.Sprintf("+1666%07d", i%cappedPeople), "normal", "research"
		batch[i]["messages"] = []string{fmt.Sprint("limited ", i)}
	}
	return batch
}

// priced returns three times as many contacts as the money pays for.
func priced(l *load) []map[string]any {
	batch := l.fresh(3 * moneyPerMonth / pricePerText)
	for i := range batch {
		batch[i]["priority"], batch[i]["messages"] = "normal", []string{fmt.Sprint("paid ", i)}
	}
	return batch
}

// checkLimits waits until nothing moves, and checks what the provider has got.
func (r *rig) checkLimits(o *outside) {
	r.t.Helper()
	perPerson := map[string]int{}
	if !polling.Until(time.Minute, 100*time.Millisecond, func() bool {
		clear(perPerson)
		for _, k := range o.tally.Keys(o.line) {
			perPerson[k.Address]++
		}
		total := 0
		for _, n := range perPerson {
			total += n
		}
		// A kill can lose sight of an attempt that never went out: it may have reached the person.
		return r.count(o, "state=sending,active,unknown") == 0 && total >= newPeople*cappedAt-r.count(o, "outcome=lost")
	}) {
		r.t.Errorf("in a minute %d people were contacted, %d may be; %d in flight, %d lost", len(perPerson), newPeople, r.count(o, "state=sending,active,unknown"), r.count(o, "outcome=lost"))
	}
	if len(perPerson) > newPeople {
		r.t.Errorf("%d people were contacted; %d new ones a day are allowed", len(perPerson), newPeople)
	}
	for address, n := range perPerson {
		if n > cappedAt {
			r.t.Errorf("%s got %d contacts; the cap is %d", address, n, cappedAt)
		}
	}
	if line := o.tally.Line(o.line); line.PeakActive > limitInFlight {
		r.t.Errorf("%d were in flight at the provider; the limit is %d", line.PeakActive, limitInFlight)
	}
}

// count counts the contacts of a channel that a filter selects; there are fewer than a page.
func (r *rig) count(o *outside, filter string) int {
	r.t.Helper()
	var page struct {
		Contacts []contact `json:"contacts"`
	}
	r.api.insist(http.MethodGet, "/v1/contacts?limit=1000&"+filter+"&channel="+o.channel, nil, http.StatusOK, &page)
	return len(page.Contacts)
}

// Bounds of TestMoney_IsNotExceededDespiteKills.
const (
	moneyPerMonth = 30
	moneyPoints   = 5
	pricePerText  = 2
)

// TestMoney_IsNotExceededDespiteKills kills the program at the boundaries of claims and reports under a limit of money,
// and compares with what the provider counts: no more than the money pays for has gone out, and what
// Weir says was spent is what did, with what may have.
func TestMoney_IsNotExceededDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 13))
			o := newSMS(t, capacity)
			r := newRig(t, database(t, store), from, false, o)
			r.limitMoney(o)
			r.loads[0].post(priced(r.loads[0]), false)
			for n := range moneyPoints * max(1, size().cell/4) {
				r.broker.kill()
				point := []string{"claim.before", "claim.committed", "send.before", "ref.before", "report.before"}[n%moneyPoints]
				r.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(4)))
				if err := r.broker.died(limitStrike); err != nil {
					t.Log(err) // everything that may go has gone
				}
			}
			r.broker.kill()
			r.broker.start("")
			r.broker.up()
			r.checkMoney(o)
			r.broker.terminate()
		})
	}
}

// limitMoney puts a purse over a channel: so much money in a calendar month.
func (r *rig) limitMoney(o *outside) {
	r.t.Helper()
	r.purseSince = time.Now()
	r.api.insist(http.MethodPut, "/v1/prices/"+o.channel, map[string]any{"currency": "USD", "per_attempt": fmt.Sprint(pricePerText)}, http.StatusCreated, nil)
	r.api.insist(http.MethodPut, "/v1/limits/purse", map[string]any{"channels": []string{o.channel}, "currency": "USD", "money_per_month": fmt.Sprint(moneyPerMonth)}, http.StatusCreated, nil)
}

// checkMoney waits until nothing moves, and compares what the provider has got with what was
// spent. If a month has ended meanwhile, the purse was filled once more.
func (r *rig) checkMoney(o *outside) {
	r.t.Helper()
	const most = moneyPerMonth / pricePerText
	var out, lost int
	spent := func() string {
		var l struct {
			Spent string `json:"money_spent"`
		}
		r.api.insist(http.MethodGet, "/v1/limits/purse", nil, http.StatusOK, &l)
		return l.Spent
	}
	if !polling.Until(time.Minute, 100*time.Millisecond, func() bool {
		out, lost = len(o.tally.Keys(o.line)), r.count(o, "outcome=lost")
		return r.count(o, "state=sending,active,unknown") == 0 && out >= most-lost
	}) {
		r.t.Errorf("in a minute %d went out, %d may; %d in flight, %d lost", out, most, r.count(o, "state=sending,active,unknown"), lost)
	}
	got, want := spent(), fmt.Sprintf("%d.00", moneyPerMonth)
	if months := monthsBetween(r.purseSince, time.Now()); months > 1 {
		if out > months*most {
			r.t.Errorf("%d went out in %d months; the money pays for %d in each", out, months, most)
		}
		return
	}
	if out > most {
		r.t.Errorf("%d went out; the money pays for %d", out, most)
	}
	if got != want {
		r.t.Errorf("%s was spent, want %s: %d went out, of %d nobody knows", got, want, out, lost)
	}
}

// monthsBetween counts the calendar months, in UTC, that two moments are in or between.
func monthsBetween(from, to time.Time) int {
	from, to = from.UTC(), to.UTC()
	return (to.Year()-from.Year())*12 + int(to.Month()) - int(from.Month()) + 1
}

func TestMonthsBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     int
	}{
		{"2026-11-30T23:59:54Z", "2026-11-30T23:59:59Z", 1},
		{"2026-11-30T23:59:54Z", "2026-12-01T00:00:17Z", 2},
		{"2026-12-31T23:59:54Z", "2027-01-01T00:00:17Z", 2},
		{"2026-11-30T23:59:54-01:00", "2026-12-01T00:00:17-01:00", 1},
	} {
		from, err := time.Parse(time.RFC3339, c.from)
		to, err2 := time.Parse(time.RFC3339, c.to)
		if got := monthsBetween(from, to); got != c.want || err != nil || err2 != nil {
			t.Errorf("from %s to %s: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

// Bounds of TestBudget_EndsItsSurveyDespiteKills.
const (
	budgetPeople = 60
	budgetPoints = 7
)

// TestBudget_EndsItsSurveyDespiteKills kills the program at the boundaries of claims, reports and
// rounds while a survey spends its budget, and compares with what the provider counts: no more than
// the budget pays for has gone out, all of it was spent, and the survey has ended because of that.
func TestBudget_EndsItsSurveyDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 17))
			o := newSMS(t, capacity)
			r := newRig(t, database(t, store), from, false, o)
			r.api.insist(http.MethodPut, "/v1/prices/"+o.channel, map[string]any{"currency": "USD", "per_attempt": fmt.Sprint(pricePerText)}, http.StatusCreated, nil)
			r.launchOnBudget(o)
			for n := range budgetPoints * max(1, size().cell/4) {
				r.broker.kill()
				point := []string{"survey.before", "claim.before", "claim.committed", "survey.committed", "send.before", "ref.before", "report.before"}[n%budgetPoints]
				r.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(4)))
				if err := r.broker.died(limitStrike); err != nil {
					t.Log(err) // everything that may go has gone
				}
			}
			r.broker.kill()
			r.broker.start("")
			r.broker.up()
			r.checkBudget(o)
			r.broker.terminate()
		})
	}
}

// launchOnBudget launches a survey whose budget pays for a quarter of its respondents.
func (r *rig) launchOnBudget(o *outside) {
	r.t.Helper()
	r.api.insist(http.MethodPut, "/v1/surveys/paid", map[string]any{
		"schedule": map[string]any{"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, "windows": []map[string]any{{"from": "00:00", "to": "24:00"}}},
		"modes":    map[string]any{"sms": map[string]any{"channel": o.channel}}, "arms": []map[string]any{{"modes": []string{"sms"}}}, "fallback_delay": "1s",
		"questionnaires": map[string]any{"q": map[string]any{"sms": []map[string]any{{"messages": []string{"Hello {{respondent}}"}}}}},
		"budget":         map[string]any{"money": fmt.Sprint(moneyPerMonth), "currency": "USD"},
	}, http.StatusCreated, nil)
	var people []map[string]any
	for i := range budgetPeople {
		people = append(people, map[string]any{"phone": fmt.Sprintf("+1202%07d", 2_000_000+i)})
	}
	r.api.insist(http.MethodPost, "/v1/surveys/paid/respondents", map[string]any{"respondents": people}, http.StatusOK, nil)
	r.api.insist(http.MethodPost, "/v1/surveys/paid:launch", map[string]any{}, http.StatusOK, nil)
}

// checkBudget waits until the survey is done, and compares what the provider has got with its
// budget.
func (r *rig) checkBudget(o *outside) {
	r.t.Helper()
	const most = moneyPerMonth / pricePerText
	var s struct{ State, Cause string }
	if !polling.Until(2*time.Minute, 100*time.Millisecond, func() bool {
		r.api.insist(http.MethodGet, "/v1/surveys/paid", nil, http.StatusOK, &s)
		return s.State == "done"
	}) || s.Cause != "budget_spent" {
		r.t.Errorf("the survey is %s, %s", s.State, s.Cause)
	}
	var stats struct {
		Budget   struct{ Spent string } `json:"budget"`
		Statuses map[string]int         `json:"by_status"`
	}
	r.api.insist(http.MethodGet, "/v1/surveys/paid/stats", nil, http.StatusOK, &stats)
	out, lost := len(o.tally.Keys(o.line)), r.count(o, "outcome=lost")
	if out > most || out < most-lost {
		r.t.Errorf("%d went out and %d were lost; the budget pays for %d", out, lost, most)
	}
	if want := fmt.Sprintf("%d.00", moneyPerMonth); stats.Budget.Spent != want {
		r.t.Errorf("%s was spent, want %s: %d went out, of %d nobody knows", stats.Budget.Spent, want, out, lost)
	}
	if n := stats.Statuses["canceled"]; n < budgetPeople-most || n+stats.Statuses["completed"]+stats.Statuses["failed"] != budgetPeople {
		r.t.Errorf("the respondents ended as %v", stats.Statuses)
	}
}
