package demo

import (
	"fmt"
	"maps"
	"slices"

	"weir/client"
)

// dossier holds all data about one survey at the end.
type dossier struct {
	Survey string
	State  string
	Cause  string
	Stats  client.StatsView
	People []person                // as in the file
	Rows   []client.RespondentView // as Weir reports them
	Quotas map[string]int          // by region

	// By digits of the number: the calls and texts that the providers have, contacts that
	// ended as lost because their outcome is unknown, and what people wrote.
	Calls, Texts, Unclear map[string]int
	Stopped, Answered     map[string]bool
	// By respondent: what Weir has accepted from the application, and what it has
	// rejected because the respondent's status was final.
	Completed, Late map[string]bool
	Sent            map[string]int
}

// verdict is the result of a dossier. All numbers count respondents.
type verdict struct {
	Survey   string
	File     int // in the file
	Sum      int // in all rows of the table
	Groups   map[group]int
	Quotas   map[string]int // counted, by region
	Finished bool

	Missing   int // in the file, and not in the survey
	Foreign   int // in the survey, and not in the file
	Twice     int // in the survey more than once
	Open      int // status not final
	Miscount  int // error of the survey's own sums
	Pestered  int // called or written to more often than the survey allows
	Abandoned int // given up before every attempt was made
	Unheard   int // wrote STOP or an answer, without effect
	Untold    int // completed without the application, or the other way round
	Unfilled  int // quotas reported as reached that are not
}

// group holds the fields that the table groups respondents by.
type group struct{ Status, Disposition string }

// inspect compares the survey with the file, the providers and the
// application.
func inspect(d dossier) verdict {
	v := verdict{
		Survey: d.Survey, File: len(d.People), Groups: map[group]int{}, Quotas: map[string]int{},
		Finished: d.State == "done",
	}
	expected, seen := map[string]bool{}, map[string]int{}
	for _, p := range d.People {
		expected[digits(p.phone)] = true
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		number := digits(r.Phone)
		if seen[number]++; seen[number] > 1 {
			v.Twice++
		}
		if !expected[number] {
			v.Foreign++
		}
		v.Sum++
		v.Groups[group{r.Status, r.Disposition}]++
		v.weigh(&d, r, number)
	}
	for number := range expected {
		if seen[number] == 0 {
			v.Missing++
		}
	}
	v.sums(&d)
	return v
}

// weigh judges one respondent.
func (v *verdict) weigh(d *dossier, r *client.RespondentView, number string) {
	calls, texts := d.Calls[number], d.Texts[number]
	if r.Disposition == "completed" {
		v.Quotas[r.Attributes["region"]]++
	}
	if r.Status == "active" || r.Status == "pending" {
		v.Open++
	}
	if calls > callAttempts || texts > textAttempts+d.Sent[r.ID] {
		v.Pestered++
	}
	if (r.Disposition == "completed") != d.Completed[r.ID] {
		v.Untold++
	}
	heard := slices.Contains([]string{"completed", "rejected", "canceled"}, r.Status)
	switch {
	case d.Stopped[number]:
		if !heard && !slices.Contains([]string{"refused", "breakoff", "partial"}, r.Disposition) {
			v.Unheard++
		}
	case d.Answered[number] && !heard && !d.Late[r.ID]:
		v.Unheard++
	case r.Status == "failed":
		// As far as Weir knows, an attempt of unknown outcome was made.
		if made := min(calls, callAttempts) + min(texts, textAttempts+d.Sent[r.ID]) + d.Unclear[number]; made < callAttempts+textAttempts {
			v.Abandoned++
		}
	}
}

// sums judges the numbers.
func (v *verdict) sums(d *dossier) {
	statuses, dispositions := map[string]int{}, map[string]int{}
	for g, n := range v.Groups {
		statuses[g.Status] += n
		dispositions[g.Disposition] += n
	}
	for _, pair := range []struct{ ours, theirs map[string]int }{{statuses, d.Stats.Statuses}, {dispositions, d.Stats.Dispositions}} {
		names := maps.Clone(pair.ours)
		maps.Copy(names, pair.theirs)
		for name := range names {
			v.Miscount += abs(pair.ours[name] - pair.theirs[name])
		}
	}
	v.Miscount += abs(d.Stats.Respondents - v.Sum)
	if d.Cause == "reached" {
		for region, n := range d.Quotas {
			if v.Quotas[region] < n {
				v.Unfilled++
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// faults lists the reasons why the demo has failed on this survey.
func (v *verdict) faults() []string {
	var out []string
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, v.Survey+": "+fmt.Sprintf(format, args...))
		}
	}
	add(!v.Finished, "not done")
	add(v.Sum != v.File, "the table adds up to %d, and %d are in the file", v.Sum, v.File)
	add(v.Missing > 0, "%d lost", v.Missing)
	add(v.Foreign > 0, "%d in the survey that are not in the file", v.Foreign)
	add(v.Twice > 0, "%d there twice", v.Twice)
	add(v.Open > 0, "%d not final", v.Open)
	add(v.Miscount > 0, "its figures are wrong by %d", v.Miscount)
	add(v.Pestered > 0, "%d contacted more often than allowed", v.Pestered)
	add(v.Abandoned > 0, "%d given up too early", v.Abandoned)
	add(v.Unheard > 0, "%d wrote and were not heard", v.Unheard)
	add(v.Untold > 0, "%d completed in Weir or in the application, but not in both", v.Untold)
	add(v.Unfilled > 0, "%d quotas that are not full", v.Unfilled)
	return out
}
