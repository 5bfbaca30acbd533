package surveys_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/web/webtest"
)

func TestSurveyRespondents_AreListed(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", `"region":"MX",`)
	r.Put("s2", "")
	all := append(r.Crowd("s1", 3, nil), r.Respondent("s1", webtest.Active))
	r.Respondent("s2")
	names := []string{}
	for i := range all {
		names = append(names, all[i].ID.String(), fmt.Sprint("r", i+1))
	}
	name := strings.NewReplacer(names...)
	id := func(i int) string { return all[i-1].ID.String() }
	ids := func(query string) string {
		l := webtest.Into[api.RespondentList](t, r.Do("GET", "/v1/surveys/s1/respondents"+query, ""), 200)
		out := ""
		for _, p := range l.Respondents {
			out += p.ID
		}
		return name.Replace(out + ">" + l.NextCursor)
	}
	for query, want := range map[string]string{
		"": "r1r2r3r4>", "?limit=3": "r1r2r3>r3", "?limit=3&cursor=" + id(3): "r4>", "?status=active": "r4>", "?status=pending,active&limit=1": "r1>r1",
		"?disposition=interim%20partial": ">", "?phone=%2B525500000001": "r2>", "?phone=+525500000001": "r2>", "?phone=55+0000+0001": "r2>",
	} {
		if got := ids(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?limit=1001", "?status=x", "?cursor=4", "?cursor=r0", "?phone=CALL"} {
		if g := r.Do("GET", "/v1/surveys/s1/respondents"+query, ""); g.Status != 422 {
			t.Errorf("%s: %d", query, g.Status)
		}
	}
}

func TestSurveyRespondents_AreShown(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	plain := r.Respondent("s1")
	p := r.Respondent("s1", webtest.Active)
	path := "/v1/surveys/s1/respondents/"
	v := webtest.Into[api.RespondentView](t, r.Do("GET", path+plain.ID.String(), ""), 200)
	if v.Arm != nil || v.Mode != "" || v.Bucket != nil || v.Contact != "" || !v.StartedAt.IsZero() {
		t.Errorf("%+v", v)
	}
	arm, bucket, began := 0, 1, webtest.Start().Add(time.Second)
	want := api.RespondentView{
		ID: p.ID.String(), Token: p.ID.String(), Survey: "s1", Phone: p.Phone, Attributes: p.Attributes, Status: "active", Disposition: "contacted", Arm: &arm, Questionnaire: "main", Mode: "ivr",
		Attempts: api.Counts{SMS: 2, IVR: 1}, Bucket: &bucket, Contact: p.Contact.String(), Serial: 3, AddedAt: webtest.Start(), StartedAt: began, UpdatedAt: began,
	}
	if d := cmp.Diff(want, webtest.Into[api.RespondentView](t, r.Do("GET", path+p.ID.String(), ""), 200)); d != "" {
		t.Error(d)
	}
	for _, path := range []string{"s1/respondents/r3", "s1/respondents/3", "s1/respondents/R1", "nobody/respondents/r1"} {
		if g := r.Do("GET", "/v1/surveys/"+path, ""); g.Status != 404 {
			t.Errorf("%s: %d", path, g.Status)
		}
	}
}

func TestSurveyRespondents_DispositionIsReportedToTheSurvey(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.Stands("s1", surveys.Running)
	p := r.Respondent("s1", webtest.Active)
	ch := r.Channel("texts", "texts")
	done := weir.Progress{State: weir.Done, Attempt: 1, Outcome: weir.Completed}
	old := r.Contact(ch, done, func(c *weir.Contact) { c.Owner = weir.Owner{Group: p.Survey, ID: int64(p.ID), Serial: 2} })
	another := r.Contact(ch, done, func(c *weir.Contact) { c.Owner = weir.Owner{Group: p.Survey, ID: 2, Serial: 2} })
	path := "/v1/surveys/s1/respondents/" + p.ID.String() + "/disposition"
	for _, tc := range []struct {
		body string
		want surveys.Report
	}{
		{`{}`, surveys.Report{}},
		{`{"disposition":"interim partial","serial":2,"stop":true}`, surveys.Report{Disposition: surveys.InterimPartial, Serial: 2, Stop: true}},
		{`{"contact":"` + p.Contact.String() + `","answers":{"age":34,"ok":true,"q1":" yes ","none":""},"messages":["Thank you"],"key":"k1"}`,
			surveys.Report{Serial: 3, Answers: map[string]string{"age": "34", "ok": "true", "q1": "yes"}, Messages: []string{"Thank you"}, Key: "k1"}},
		{`{"contact":"` + old.Ref.String() + `"}`, surveys.Report{Serial: 2}},
	} {
		v := webtest.Into[api.RespondentView](t, r.Do("POST", path, tc.body), 200)
		if d := cmp.Diff(tc.want, r.People.Reports[len(r.People.Reports)-1]); d != "" || v.ID != p.ID.String() {
			t.Errorf("%s: %s", tc.body, d)
		}
	}
	heard := len(r.People.Reports)
	for body, want := range map[string]webtest.Mistake{
		`{"disposition":"queued"}`:                           {Pointer: "/disposition", Code: "enum"},
		`{"disposition":"registered"}`:                       {Pointer: "/disposition", Code: "enum"},
		`{"colour":1}`:                                       {Pointer: "/colour", Code: "unknown"},
		`{"serial":4}`:                                       {Pointer: "/serial", Code: "unknown"},
		`{"serial":0}`:                                       {Pointer: "/serial", Code: "range"},
		`{"contact":"x"}`:                                    {Pointer: "/contact", Code: "unknown"},
		`{"contact":"9-9"}`:                                  {Pointer: "/contact", Code: "unknown"},
		`{"contact":"` + another.Ref.String() + `"}`:         {Pointer: "/contact", Code: "unknown"},
		`{"contact":"` + old.Ref.String() + `","serial":2}`:  {Pointer: "/serial", Code: "content"},
		`{"answers":{"Q 1":"x"}}`:                            {Pointer: "/answers/Q 1", Code: "format"},
		`{"answers":{"phone":"x"}}`:                          {Pointer: "/answers/phone", Code: "format"},
		`{"answers":{"q":{}}}`:                               {Pointer: "/answers/q", Code: "format"},
		`{"messages":[]}`:                                    {Pointer: "/messages", Code: "length"},
		`{"messages":[" "]}`:                                 {Pointer: "/messages/0", Code: "length"},
		`{"messages":["` + strings.Repeat("é", 1601) + `"]}`: {Pointer: "/messages/0", Code: "length"},
		`{"messages":["x"],"key":"a\nb"}`:                    {Pointer: "/key", Code: "format"},
	} {
		g := r.Do("POST", path, body)
		if got := webtest.MistakesOf(t, g); g.Status != 422 || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %d %v", body, g.Status, got)
		}
	}
	for _, err := range []error{surveys.ErrFinal, surveys.ErrDisposition, fmt.Errorf("hear: %w", surveys.ErrFinal)} {
		r.People.Refusal = err
		if g := r.Do("POST", path, `{"disposition":"completed"}`); g.Status != 409 || g.Problem(t).Code != weir.CodeConflict || len(g.Problem(t).Detail) < 20 {
			t.Errorf("%v: %d %s", err, g.Status, g.Body)
		}
	}
	r.Stands("s1", surveys.Draft)
	if g := r.Do("POST", path, `{}`); g.Status != 409 || len(r.People.Reports) != heard+3 {
		t.Errorf("%d, heard %d times", g.Status, len(r.People.Reports)-heard)
	}
}

// Answers are also accepted from a respondent whose number, stored earlier, an
// import would no longer accept.
func TestSurveyRespondents_ReportChecksNoStoredNumber(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.Stands("s1", surveys.Running)
	p := r.Respondent("s1", func(p *surveys.Respondent) { webtest.Active(p); p.Phone = "+810000000000" })
	if g := r.Do("POST", "/v1/surveys/s1/respondents/"+p.ID.String()+"/disposition", `{"answers":{"age":34}}`); g.Status != 200 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
}

func TestSurveyRespondents_ResultsAreDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	one := r.Respondent("s1", func(p *surveys.Respondent) {
		p.Attributes = map[string]string{"first_name": `Ana "A", B`, "balance": "-5.5", "note": "=1+1", "status": "@x", "z": "+1 2"}
	})
	two := r.Respondent("s1", webtest.Active, func(p *surveys.Respondent) {
		p.Attributes = map[string]string{"other_attributes": "\tx", "note": "two\nlines"}
		p.Updated, p.OptedOut = webtest.Start().Add(time.Minute), true
		p.Totals = surveys.Totals{Sent: 3, Received: 2, CallSeconds: 61, Serial: 2}
	})
	names := strings.NewReplacer(one.ID.String(), "r1", two.ID.String(), "r2")
	g := r.Do("GET", "/v1/surveys/s1/results.csv", "")
	want := `id,phone,status,disposition,arm,questionnaire,mode,attempts_ivr,attempts_sms,attempts_mobileweb,attempts_cati,bucket,counted,opted_out,added_at,started_at,finished_at,updated_at,messages_sent,messages_received,call_seconds,balance,first_name,note,attributes.other_attributes,attributes.status,z,other_attributes
r1,+525500000000,pending,registered,,,,0,0,0,0,,false,false,2026-03-01T12:00:00Z,,,2026-03-01T12:00:00Z,0,0,0,-5.5,"Ana ""A"", B",'=1+1,,'@x,'+1 2,
r2,+525500000001,active,contacted,0,main,ivr,1,2,0,0,1,false,true,2026-03-01T12:00:00Z,2026-03-01T12:00:01Z,,2026-03-01T12:01:00Z,3,2,61,,,"two
lines",'	x,,,
`
	if d := cmp.Diff(want, names.Replace(g.Body)); d != "" {
		t.Error(d)
	}
	if g.Status != 200 || g.Header.Get("Content-Type") != "text/csv; charset=utf-8" || g.Header.Get("Content-Disposition") != `attachment; filename="s1-results.csv"` {
		t.Errorf("%d %v", g.Status, g.Header)
	}
	for query, want := range map[string]string{
		"status=active": "r2", "status=completed": "", "disposition=contacted,refused": "r2", "disposition=registered": "r1", "status=active&disposition=registered": "",
		"since=2026-03-01T12:01:00Z": "r2", "until=2026-03-01T12:01:00Z": "r1", "since=2026-03-01T13:00:00%2B01:00": "r1 r2", "since=2026-03-01T12:01:00Z&until=2026-03-01T12:01:00Z": "",
	} {
		g := r.Do("GET", "/v1/surveys/s1/results.csv?"+query, "")
		if got := strings.Join(regexp.MustCompile(`(?m)^r[12]\b`).FindAllString(names.Replace(g.Body), -1), " "); g.Status != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", query, g.Status, got, want)
		}
		page := webtest.Into[api.RespondentList](t, r.Do("GET", "/v1/surveys/s1/respondents?"+query, ""), 200)
		if got := len(page.Respondents); got != len(strings.Fields(want)) {
			t.Errorf("%s: %d respondents are listed, want %q", query, got, want)
		}
		for _, v := range page.Respondents {
			if last := v.ID == two.ID.String(); last != (v.MessagesSent == 3) || last != (v.MessagesReceived == 2) {
				t.Errorf("%+v", v)
			}
		}
	}
	for _, wrong := range []string{"disposition=happy", "since=yesterday", "until=2026-03-01"} {
		if g := r.Do("GET", "/v1/surveys/s1/results.csv?"+wrong, ""); g.Status != 422 || g.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %d %s", wrong, g.Status, g.Body)
		}
	}
	for _, path := range []string{"nobody/results.csv", "nobody/log.csv"} {
		if g := r.Do("GET", "/v1/surveys/"+path, ""); g.Status != 404 || g.Header.Get("Content-Disposition") != "" {
			t.Errorf("%d", g.Status)
		}
	}
}

func TestSurveyRespondents_ResultsHaveBoundedColumns(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.Crowd("s1", 2500, func(i int, p *surveys.Respondent) {
		p.Attributes = map[string]string{"common": "c", fmt.Sprintf("a%d", i%120): "x"}
	})
	lines := strings.Split(strings.TrimSpace(r.Do("GET", "/v1/surveys/s1/results.csv", "").Body), "\n")
	if len(lines) != 2501 || strings.Count(lines[0], ",") != 21+100 {
		t.Fatalf("%d lines, %d commas", len(lines), strings.Count(lines[0], ","))
	}
	rest := 0
	for _, l := range lines[1:] {
		if strings.HasSuffix(l, `"{""a`) {
			t.Fatal(l)
		}
		if strings.Contains(l, `"{""a`) {
			rest++
		}
	}
	if want := 2500 * 21 / 120; rest < want-21 || rest > want+21 {
		t.Errorf("%d rows have other attributes", rest)
	}
}

func TestSurveyRespondents_LogIsDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	if g := r.Do("GET", "/v1/surveys/s1/log.csv", ""); g.Body != "id,at,respondent,event,mode,channel,attempt,outcome,from,to,reason\n" {
		t.Error(g.Body)
	}
	p := r.Respondent("s1")
	r.Log(p, slices.Repeat([]surveys.LogEntry{{At: webtest.Start(), Event: "ended", Mode: "sms", Channel: "texts", Attempt: 2, Outcome: "busy", From: "queued", To: "contacted"}}, 2100)...)
	g := r.Do("GET", "/v1/surveys/s1/log.csv", "")
	if strings.Count(g.Body, "\n") != 2101 || !strings.HasSuffix(g.Body, ",2026-03-01T12:00:00Z,"+p.ID.String()+",ended,sms,texts,2,busy,queued,contacted,\n") {
		t.Error(g.Body[:400])
	}
	lines := strings.Split(g.Body, "\n")
	after, _, _ := strings.Cut(lines[2099], ",")
	if g := r.Do("GET", "/v1/surveys/s1/log.csv?after="+after, ""); strings.Count(g.Body, "\n") != 2 {
		t.Error(g.Body)
	}
}

func TestSurveyRespondents_LogIsListedNewestFirst(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	p := r.Respondent("s1")
	r.Log(p, slices.Repeat([]surveys.LogEntry{{At: webtest.Start(), Event: "ended", Mode: "sms", Channel: "texts", Attempt: 2, Outcome: "busy"}}, 3)...)
	all, err := r.Store.Log(t.Context(), p.Survey, 0, 10)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	id := func(i int) string { return fmt.Sprint(all[i-1].ID) }
	page := webtest.Into[api.SurveyLogList](t, r.Do("GET", "/v1/surveys/s1/log?limit=2", ""), 200)
	if len(page.Entries) != 2 || page.Entries[0].ID != id(3) || page.Entries[0].Respondent != p.ID.String() || page.NextCursor != id(2) {
		t.Errorf("the newest of the log: %+v", page)
	}
	page = webtest.Into[api.SurveyLogList](t, r.Do("GET", "/v1/surveys/s1/log?cursor="+id(3), ""), 200)
	if len(page.Entries) != 2 || page.Entries[1].ID != id(1) || page.NextCursor != "" {
		t.Errorf("the last page of the log: %+v", page)
	}
	for _, cursor := range []string{"0", "x", "-1"} {
		if g := r.Do("GET", "/v1/surveys/s1/log?cursor="+cursor, ""); g.Status != 422 {
			t.Errorf("cursor %q: %d", cursor, g.Status)
		}
	}
}
