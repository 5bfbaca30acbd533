package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"weir/api"
	"weir/people"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// skippedRow is how often a rule has kept contacts from being dispatched.
type skippedRow struct {
	Rule                string // in words
	Suppressed, Delayed int64
}

// readSkipped reads what the rules have kept from being dispatched, of a channel or of a survey:
// filter is the name of the parameter. It is nil for a token that may not read it, so that the page
// is shown without it.
func readSkipped(v *page.Visit, known *page.Cache[[]skippedRow], filter, name string) ([]skippedRow, error) {
	if !v.May(page.Readers()...) {
		return nil, nil
	}
	return known.Get(filter+"\n"+name+"\n"+v.RightsKey(), func() ([]skippedRow, error) {
		var all api.SkippedList
		err := v.Get("/v1/skipped", url.Values{filter: {name}, "days": {strconv.Itoa(sumDays)}}, &all)
		if status, _ := page.StatusOf(err); err != nil && (status == http.StatusForbidden || status == http.StatusNotFound) {
			return nil, nil
		}
		return skippedRows(v.Locale, all.Skipped), err
	})
}

// skippedRows adds up by rule, the most frequent first. Rules that have the same words are one row.
func skippedRows(l *locale.Locale, list []api.SkippedView) (rows []skippedRow) {
	for _, x := range list {
		text := ruleText(l, people.Rule(x.Rule))
		i := slices.IndexFunc(rows, func(r skippedRow) bool { return r.Rule == text })
		if i < 0 {
			i, rows = len(rows), append(rows, skippedRow{Rule: text})
		}
		rows[i].Suppressed += x.Suppressed
		rows[i].Delayed += x.Delayed
	}
	slices.SortFunc(rows, func(a, b skippedRow) int {
		return cmp.Or(cmp.Compare(b.Suppressed+b.Delayed, a.Suppressed+a.Delayed), cmp.Compare(a.Rule, b.Rule))
	})
	return rows
}
