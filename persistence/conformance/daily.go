package conformance

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/internal/document"
	"weir/limits"
	"weir/people"
)

// testDailySums: what is counted by day is kept for 400 days; of money a sum stays, by the names of
// surveys that a limit counts. A day has a bounded number of names.
func testDailySums(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutPrice(b.ctx(), "a", usd("1")))
	b.ok(b.PutLimit(b.ctx(), "budget", &limits.Limit{Surveys: []string{"s"}, Currency: "USD", Money: "1.5"}, document.Condition{}))
	_, by := b.owned("a")
	of := func(key, survey string) weir.Spec {
		s := sms(key)
		s.Survey = survey
		return s
	}
	must[[]weir.Accepted](t)(b.acceptClaimed(by, 4, of("1", "s"), of("2", "s"), of("3", "gone"), of("4", "")))
	today := weir.DayOf(now())
	sums := func(from, to int) (text string) {
		for _, x := range must[[]limits.Spending](t)(b.Spending(b.ctx(), from, to, nil, 9999)) {
			text += fmt.Sprintf("%s=%s ", x.Survey, x.Amount)
		}
		return text
	}
	skipped := func() int {
		return len(must[[]people.Skipped](t)(b.Skipped(b.ctx(), people.SkippedFilter{From: 0, To: today}, 10)))
	}
	purge := func(days int) (parts int) {
		t.Helper()
		for more := true; more; parts++ {
			var err error
			more, err = b.PurgeDaily(b.ctx(), now().Add(time.Duration(days)*24*time.Hour), 1)
			b.ok(err)
		}
		return parts
	}
	purge(400)
	if got := sums(today, today); got != "=1.00 gone=1.00 s=1.00 " || skipped() != 1 {
		t.Errorf("after 400 days: %q, %d skipped", got, skipped())
	}
	if n := purge(401); n != 5 {
		t.Errorf("one row that was skipped, three of money and the end are purged in %d parts of one row", n)
	}
	purge(401)
	if got := sums(1, today); got != "" || skipped() != 0 {
		t.Errorf("after 401 days: %q, %d skipped", got, skipped())
	}
	if got := sums(0, 0); got != "=2.00 s=1.00 " {
		t.Errorf("added up: %q", got)
	}
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start
	if use := b.LimitUse()["budget"]; use.Spent.String() != "1.00" {
		t.Errorf("of the limit, after a start: %s", use.Spent)
	}
	specs := make([]weir.Spec, 0, 1002)
	for i := range 1002 {
		specs = append(specs, of(fmt.Sprint("n", i), fmt.Sprint("invented-", i)))
	}
	must[[]weir.Accepted](t)(b.acceptClaimed(by, len(specs), specs...))
	b.ok(b.OpenPeople(b.ctx(), nil))
	b.ok(b.PutLimit(b.ctx(), "budget", &limits.Limit{Surveys: []string{"s"}, Currency: "USD", Money: "2"}, document.Condition{}))
	must[[]weir.Accepted](t)(b.acceptClaimed(by, 3, of("again", "invented-0"), of("more", "another"), of("5", "s")))
	named := map[string]string{}
	for _, x := range must[[]limits.Spending](t)(b.Spending(b.ctx(), today, today, nil, 9999)) {
		named[x.Survey] = x.Amount.String()
	}
	if len(named) != 1002 || named["(others)"] != "3.00" || named["invented-0"] != "2.00" || named["s"] != "1.00" {
		t.Errorf("%d names, of others %s, of one that is known %s, of one that a limit counts %s", len(named), named["(others)"], named["invented-0"], named["s"])
	}
}
