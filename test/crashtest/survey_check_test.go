package crashtest_test

import (
	"encoding/csv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verdict combines the providers' records with the results.
type verdict struct {
	*surveyWorld
	contacts map[string]contact           // by id
	sent     map[string]int               // outreaches that a provider accepted, by their text
	rows     map[string]map[string]string // results, by "survey respondent"
	lost     map[string]int               // contacts of unknown outcome, by respondent
	late     int                          // contacts that were on their way when STOP was acknowledged
	stopped  int
}

// judge checks the surveys against their guarantees.
func (w *surveyWorld) judge(store string, took time.Duration) {
	w.t.Helper()
	v := &verdict{surveyWorld: w, contacts: map[string]contact{}, sent: map[string]int{}, rows: map[string]map[string]string{}, lost: map[string]int{}}
	for _, o := range []*outside{w.calls, w.texts} {
		for _, c := range w.api.list(o.channel) {
			v.contacts[c.ID] = c
			if who, _, ours := strings.Cut(c.Key, "-"); ours && c.Outcome == "lost" {
				v.lost[who]++
			}
		}
	}
	for _, name := range w.surveys {
		v.results(name)
	}
	if len(v.rows) != len(w.phones) {
		w.t.Errorf("%d respondents in the results; %d were loaded", len(v.rows), len(w.phones))
	}
	v.outreaches(w.calls, w.callSeen)
	v.outreaches(w.texts, w.textSeen)
	v.attempts()
	v.reports()
	v.stops()
	v.providers()
	w.t.Logf("CELL surveys %s: kills %d (%d of %d at their points), surveys %d, respondents %d, outreaches %d, lost %d, STOP %d, on their way then %d, over %v after the last kill",
		store, w.kills, w.points1stHit, w.points, len(w.surveys), len(v.rows), len(v.sent), len(v.lost), v.stopped, v.late, took.Round(time.Millisecond))
}

// results reads a survey's results and compares its totals with them.
func (v *verdict) results(survey string) {
	v.t.Helper()
	a := v.api.do(v.t.Context(), http.MethodGet, "/v1/surveys/"+survey+"/results.csv", nil)
	if a.status != http.StatusOK {
		v.t.Fatalf("results of %s: %d %s", survey, a.status, a.body)
	}
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil {
		v.t.Fatal(err)
	}
	statuses, dispositions, phones := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, cells := range rows[1:] {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = cells[i]
		}
		statuses[row["status"]]++
		dispositions[row["disposition"]]++
		if v.phones[row["phone"]] != survey || phones[row["phone"]] {
			v.t.Errorf("%s: %s is there, and should not, or not again", survey, row["id"])
		}
		phones[row["phone"]] = true
		v.rows[survey+" "+row["id"]] = row
		if !slices.Contains([]string{"completed", "failed"}, row["status"]) {
			v.t.Errorf("%s: respondent %s is %s, %s at the end", survey, row["id"], row["status"], row["disposition"])
		}
	}
	var stats struct {
		Respondents  int
		Statuses     map[string]int `json:"by_status"`
		Dispositions map[string]int `json:"by_disposition"`
	}
	v.api.insist(http.MethodGet, "/v1/surveys/"+survey+"/stats", nil, http.StatusOK, &stats)
	for _, m := range []map[string]int{stats.Statuses, stats.Dispositions} {
		maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 })
	}
	if stats.Respondents != v.people || len(phones) != v.people || !maps.Equal(stats.Statuses, statuses) || !maps.Equal(stats.Dispositions, dispositions) {
		v.t.Errorf("%s: loaded %d, in the results %d: %v %v; the sums say %+v", survey, v.people, len(phones), statuses, dispositions, stats)
	}
}

// outreaches counts the accepted outreaches of a provider, by their text.
func (v *verdict) outreaches(o *outside, seen *records) {
	v.t.Helper()
	words := map[string]string{}
	for _, s := range seen.all() {
		if was, ok := words[s.key]; ok && was != s.what {
			v.t.Errorf("%s: %s was %q and is %q", o.channel, s.key, was, s.what)
		}
		words[s.key] = s.what
	}
	for _, k := range o.tally.Keys(o.line) {
		if words[k.Key] == "" || v.contacts[contactOf(k.Key)].ID == "" {
			v.t.Errorf("%s: the provider received %s, which belongs to no respondent", o.channel, k.Key)
		}
		v.sent[words[k.Key]] += k.Taken
	}
}

// attempts verifies that no respondent was contacted twice for one attempt, or more
// often than the retry schedule allows, or given up before it was exhausted.
func (v *verdict) attempts() {
	v.t.Helper()
	made := map[string]int{}
	for what, n := range v.sent {
		if n != 1 {
			v.t.Errorf("%q went out %d times", what, n)
		}
		said := strings.Fields(what)
		if len(said) != 4 {
			continue // a reply
		}
		who := said[0] + " " + said[1]
		made[who]++
		number, err := strconv.Atoi(said[3])
		most := map[string]int{"ivr": callAttempts, "sms": textAttempts}[said[2]]
		if err != nil || number < 1 || number > most || v.rows[who] == nil {
			v.t.Errorf("%q went out; there are %d attempts", what, most)
		}
	}
	for who, row := range v.rows {
		if row["disposition"] != "unresponsive" && row["disposition"] != "failed" || v.crowd.stops[who] != "" {
			continue
		}
		if _, id, _ := strings.Cut(who, " "); made[who]+v.lost[id] < callAttempts+textAttempts {
			v.t.Errorf("%s is %s after %d attempts, and %d that are lost", who, row["disposition"], made[who], v.lost[id])
		}
	}
}

// reports verifies that every report acknowledged to the application is kept.
func (v *verdict) reports() {
	v.t.Helper()
	v.app.mu.Lock()
	defer v.app.mu.Unlock()
	for who := range v.app.completed {
		if row := v.rows[who]; row["disposition"] != "completed" {
			v.t.Errorf("%s: the report of its end was taken; the results say %q", who, row["disposition"])
		}
	}
	if len(v.app.completed) == 0 || len(v.app.told) == 0 {
		v.t.Errorf("the application made %d reports and received %d messages; want some", len(v.app.completed), len(v.app.told))
	}
}

// stops verifies that nothing was claimed for a respondent after their STOP was
// answered 2xx.
func (v *verdict) stops() {
	v.t.Helper()
	for who, guid := range v.crowd.stops {
		taken := v.heard.when(guid)
		row := v.rows[who]
		if taken.IsZero() {
			continue // it was never answered; the provider keeps repeating it
		}
		v.stopped++
		if row["disposition"] != "refused" && row["disposition"] != "breakoff" && row["disposition"] != "completed" && row["disposition"] != "partial" {
			finished, err := time.Parse(time.RFC3339Nano, row["finished_at"])
			if err != nil || finished.After(taken) {
				v.t.Errorf("%s said STOP at %v and is %s, %s since %v", who, taken, row["status"], row["disposition"], finished)
			}
		}
		v.after(who, taken)
	}
	if v.stopped == 0 {
		v.t.Error("no respondent said STOP")
	}
}

// after fails the test for contacts claimed for a respondent after an instant. It
// counts contacts that were claimed earlier and sent later.
func (v *verdict) after(who string, at time.Time) {
	v.t.Helper()
	for _, seen := range []*records{v.callSeen, v.textSeen} {
		for _, o := range seen.all() {
			if !strings.HasPrefix(o.what, who+" ") || !o.at.After(at) || v.sent[o.what] == 0 {
				continue
			}
			c := v.contacts[contactOf(o.key)]
			onItsWay := true
			for _, a := range c.Attempts {
				onItsWay = onItsWay && a.ClaimedAt != nil && a.ClaimedAt.Before(at)
			}
			if onItsWay {
				v.late++
				continue
			}
			v.t.Errorf("%s: %q went out %v after STOP was answered: %+v", who, o.what, o.at.Sub(at), c)
		}
	}
}

// providers verifies that neither provider held more than its channel's capacity, or
// got anything twice.
func (v *verdict) providers() {
	v.t.Helper()
	for _, o := range []*outside{v.calls, v.texts} {
		line := o.tally.Line(o.line)
		if line.PeakActive > o.capacity || line.Doubled > 0 || line.Active > 0 {
			v.t.Errorf("%s: %d of %d slots taken at once, %d sent twice, %d slots still taken", o.channel, line.PeakActive, o.capacity, line.Doubled, line.Active)
		}
	}
	if n := v.texts.alike(); n > 0 {
		v.t.Errorf("%d texts went out twice under two names", n)
	}
	if n := len(v.lost); n > v.kills*sendsAtOnce {
		v.t.Errorf("%d contacts ended as lost; %d kills can lose sight of %d", n, v.kills, v.kills*sendsAtOnce)
	}
}
