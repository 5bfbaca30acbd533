package why

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

// SkippedRow is how often a rule has kept contacts from being dispatched.
type SkippedRow struct {
	Rule                string // in words
	Suppressed, Delayed int64
}

// Skipped reads what the rules have kept from being dispatched, of a channel or of a survey:
// filter is the name of the parameter. It is nil for a token that may not read it, so that the page
// is shown without it.
func Skipped(v *page.Visit, known *page.Cache[[]SkippedRow], filter, name string) ([]SkippedRow, error) {
	if !v.May(page.Readers()...) {
		return nil, nil
	}
	return known.Get(filter+"\n"+name+"\n"+v.RightsKey(), func() ([]SkippedRow, error) {
		var all api.SkippedList
		err := v.Get("/v1/skipped", url.Values{filter: {name}, "days": {strconv.Itoa(page.SumDays)}}, &all)
		if status, _ := page.StatusOf(err); err != nil && (status == http.StatusForbidden || status == http.StatusNotFound) {
			return nil, nil
		}
		return skippedRows(v.Locale, all.Skipped), err
	})
}

// skippedRows adds up by rule, the most frequent first. Rules that have the same words are one row.
func skippedRows(l *locale.Locale, list []api.SkippedView) (rows []SkippedRow) {
	for _, x := range list {
		text := RuleText(l, people.Rule(x.Rule))
		i := slices.IndexFunc(rows, func(r SkippedRow) bool { return r.Rule == text })
		if i < 0 {
			i, rows = len(rows), append(rows, SkippedRow{Rule: text})
		}
		rows[i].Suppressed += x.Suppressed
		rows[i].Delayed += x.Delayed
	}
	slices.SortFunc(rows, func(a, b SkippedRow) int {
		return cmp.Or(cmp.Compare(b.Suppressed+b.Delayed, a.Suppressed+a.Delayed), cmp.Compare(a.Rule, b.Rule))
	})
	return rows
}
