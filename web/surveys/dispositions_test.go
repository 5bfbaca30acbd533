package surveys_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/surveys"
	"weir/web"
	"weir/web/webtest"
)

// interviewed makes a survey in the zone of Mexico City, and five respondents whose entries alternate in
// the log: one who completed a call, one who refused by text, one in between, one who was canceled
// before the first contact and one whom nobody contacted.
func interviewed(r *webtest.Rig) []surveys.Respondent {
	r.T.Helper()
	r.Put("s1", `"region":"MX",`)
	at := time.Date(2026, 4, 1, 18, 0, 0, 0, time.UTC)
	all := r.Crowd("s1", 5, nil)
	say := func(i int, e surveys.LogEntry) {
		r.T.Helper()
		e.At, e.Respondent, at = at, all[i].ID, at.Add(time.Minute)
		all[i] = r.Change(all[i], func(p *surveys.Respondent) {
			if e.To != "" {
				p.Disposition = e.To
			}
			if e.Event == "finished" {
				p.Finished = e.At
				p.Status = surveys.Completed
			}
			if e.Event == "enqueued" && p.Started.IsZero() {
				p.Status, p.Started, p.Disposition, p.Attempts = surveys.Active, e.At, surveys.Queued, p.Attempts.Add(e.Mode, 1)
			}
			p.Step = map[surveys.Mode]int{surveys.IVR: 1}[e.Mode]
		}, e)
	}
	for i := range 3 {
		say(i, surveys.LogEntry{Event: "enqueued", Mode: surveys.SMS, Channel: "texts", Attempt: 1})
	}
	say(1, surveys.LogEntry{Event: "message", Channel: "texts"})
	say(1, surveys.LogEntry{Event: "disposition", From: surveys.Queued, To: surveys.Refused})
	say(1, surveys.LogEntry{Event: "finished", From: surveys.Queued, To: surveys.Refused, Reason: "opted out"})
	say(0, surveys.LogEntry{Event: "ended", Mode: surveys.SMS, Channel: "texts", Attempt: 1, Outcome: weir.Failed, Reason: "=HYPERLINK(+15559998877)"})
	say(0, surveys.LogEntry{Event: "enqueued", Mode: surveys.IVR, Channel: "calls", Attempt: 1})
	say(3, surveys.LogEntry{Event: "finished", From: surveys.Registered, To: surveys.Registered})
	say(0, surveys.LogEntry{Event: "disposition", Mode: surveys.IVR, From: surveys.Queued, To: surveys.Complete})
	say(0, surveys.LogEntry{Event: "finished", Mode: surveys.IVR, From: surveys.Queued, To: surveys.Complete})
	return all
}

// rowsOf returns the rows of a file, with the ids of respondents as their places in the list.
func rowsOf(t *testing.T, text string, all []surveys.Respondent) [][]string {
	t.Helper()
	names := []string{}
	for i := range all {
		names = append(names, all[i].ID.String(), fmt.Sprint("#", i))
	}
	rows, err := csv.NewReader(strings.NewReader(strings.NewReplacer(names...).Replace(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Scenario 480: the history of the dispositions has a row for each change, by respondent and then time, and no number;
// the list for rewards has who completed, with the number.
func TestSurveyHistory_FilesOfChangesAndRewards(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	all := interviewed(r)
	for file, want := range map[string][][]string{
		"dispositions": {
			{"respondent", "disposition", "mode", "at"},
			{"#0", "queued", "sms", "2026-04-01T12:00:00-06:00"},
			{"#0", "completed", "ivr", "2026-04-01T12:09:00-06:00"},
			{"#1", "queued", "sms", "2026-04-01T12:01:00-06:00"},
			{"#1", "refused", "sms", "2026-04-01T12:04:00-06:00"},
			{"#2", "queued", "sms", "2026-04-01T12:02:00-06:00"},
		},
		"incentives": {
			{"phone", "questionnaire", "mode", "completed_at"},
			{all[0].Phone, "main", "ivr", "2026-04-01T12:10:00-06:00"},
		},
	} {
		g := r.Do("GET", "/v1/surveys/s1/"+file+".csv", "")
		if d := cmp.Diff(want, rowsOf(t, g.Body, all)); g.Status != 200 || d != "" {
			t.Errorf("%s: %d\n%s", file, g.Status, d)
		}
		if name := g.Header.Get("Content-Disposition"); name != `attachment; filename="s1-`+file+`.csv"` {
			t.Errorf("%s is called %s", file, name)
		}
		if g := r.Do("GET", "/v1/surveys/s1/"+file+".csv?spreadsheet=semicolon", ""); !strings.HasPrefix(g.Body, "\ufeff"+strings.Join(want[0], ";")) || strings.Contains(g.Body, ";+52") {
			t.Errorf("%s for Excel: %q", file, g.Body)
		}
		for path, status := range map[string]int{"nobody/" + file + ".csv": 404, "s1/" + file + ".csv?spreadsheet=tab": 422, "s1/" + file + ".csv?status=failed": 422} {
			if g := r.Do("GET", "/v1/surveys/"+path, ""); g.Status != status || g.Header.Get("Content-Disposition") != "" {
				t.Errorf("%s: %d, want %d", path, g.Status, status)
			}
		}
	}
}

// The file with numbers is refused without pii:read, and the other ones have none.
func TestSurveyHistory_NumbersNeedPII(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	tokens := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) { o.Gate, o.Now = tokens.Gate, clock.Now })
	all := interviewed(r)
	for _, scopes := range [][]string{{"contacts:read"}, {"surveys:admin"}, {"contacts:read", "pii:read"}, {"pii:read"}} {
		token, reader, pii := r.Token(scopes...), len(scopes) > 1 || scopes[0] != "pii:read", slices.Contains(scopes, "pii:read")
		for file, allowed := range map[string]bool{"incentives.csv": reader && pii, "dispositions.csv": reader} {
			g := r.As("GET", "/v1/surveys/s1/"+file, "", token)
			if (g.Status == 200) != allowed || !allowed && (g.Status != 403 || !strings.Contains(g.Body, "scope")) {
				t.Errorf("%s with %v: %d %s", file, scopes, g.Status, g.Body)
			}
			if strings.Contains(g.Body, all[0].Phone) != (allowed && file == "incentives.csv") {
				t.Errorf("%s with %v: %s", file, scopes, g.Body)
			}
		}
	}
}

// longLog is a store whose log has entries without end for the reader: each of some people has the same
// number of entries, in turn. It fails at an entry.
type longLog struct {
	*webtest.Store
	people, entries, fails int64
}

func (l *longLog) Log(_ context.Context, _, after int64, limit int) ([]surveys.LogEntry, error) {
	if l.fails != 0 && after >= l.fails {
		return nil, webtest.ErrDown
	}
	var list []surveys.LogEntry
	for id := after + 1; id <= l.people*l.entries && len(list) < limit; id++ {
		e := surveys.LogEntry{ID: id, At: webtest.Start().Add(time.Duration(id) * time.Second), Respondent: surveys.RespondentID(1 + (id-1)%l.people), Mode: surveys.SMS, Channel: fmt.Sprint("texts", id%7)}
		switch (id - 1) / l.people {
		case 0:
			e.Event = "enqueued"
		case l.entries - 1:
			e.Event, e.To = "disposition", surveys.Complete
		default:
			e.Event, e.Reason = "ended", fmt.Sprint("reason ", id)
		}
		list = append(list, e)
	}
	return list, nil
}

// TestSurveyHistory_OfALongLogTakesBoundedMemory: the log is sorted without being held in memory. It is
// not parallel: it measures the memory of the process.
func TestSurveyHistory_OfALongLogTakesBoundedMemory(t *testing.T) {
	const bound, people = 24 << 20, 100_000
	store := &longLog{people: people, entries: 6}
	r := webtest.New(t, func(o *web.Options) { store.Store = o.SurveyStore.(*webtest.Store); o.SurveyStore = store })
	r.Put("s1", "")
	before := inUse()
	req := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/surveys/s1/dispositions.csv", nil)
	req.Header.Set("Authorization", "Bearer "+webtest.APICanary)
	var answer counted
	r.Handler.ServeHTTP(&answer, req)
	if grown := int64(answer.most) - int64(before); answer.lines != 1+2*people || answer.writes < 100 || grown > bound {
		t.Errorf("%d lines in %d writes, %d MB more in use", answer.lines, answer.writes, grown>>20)
	}
}

// A log that cannot be read to its end is an error, because it is sorted before anything is written.
func TestSurveyHistory_OfALogThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, fails := range []int64{-1, 2000} {
		store := &longLog{people: 1000, entries: 3, fails: fails}
		r := webtest.New(t, func(o *web.Options) { store.Store = o.SurveyStore.(*webtest.Store); o.SurveyStore = store })
		r.Put("s1", "")
		if g := r.Do("GET", "/v1/surveys/s1/dispositions.csv", ""); g.Status != 503 || g.Header.Get("Content-Disposition") != "" {
			t.Errorf("after %d entries: %d", fails, g.Status)
		}
	}
}
