package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
)

// Scenario 350.
func TestSurvey_PageShowsDaysModesArmsAndHoursOfAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 4)
	b := r.login(surveyScope)
	b.get("/surveys/flu").want(200).has("Respondents by day", "expected to start", "Days and hours in America/Mexico_City", "Answers by weekday and hour")
	r.api("PATCH", "/v1/surveys/flu", `{"schedule":{"windows":[{"from":"00:00","to":"24:00"}]}}`, nil)
	r.api("POST", "/v1/surveys/flu:launch", "", nil)
	var list api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &list)
	for i, disposition := range []string{"completed", "refused"} {
		r.api("POST", "/v1/surveys/flu/respondents/"+list.Respondents[i].ID+"/disposition", `{"disposition":"`+disposition+`"}`, nil)
	}
	var course api.CourseView
	r.api("GET", "/v1/surveys/flu/course", "", &course)
	if course.Answered != 2 || course.Completed != 1 || len(course.Arms) != 2 || course.Arms[0].Answered+course.Arms[1].Answered != 2 {
		t.Errorf("%+v", course)
	}
	hours := 0
	for _, day := range course.WeeklyHours {
		for _, n := range day {
			hours += n
		}
	}
	if hours != 2 {
		t.Errorf("%d answers in the week", hours)
	}
	r.soon(func() bool {
		page := b.get("/surveys/flu").want(200).body
		return strings.Contains(page, "at most 1, ") || strings.Contains(page, "at most 2, ")
	})
	b.get("/surveys/flu").has(`<th scope="row">sms</th>`, `<th scope="row">0 a</th>`, `<th scope="row">1 b</th>`)
	b.get("/v1/surveys/flu/course?time_zone=Mars").want(401)
}

// Scenario 351.
func TestChannel_PageShowsUtilizationAndWhenTheQueueIsEmpty(t *testing.T) {
	t.Parallel()
	const scopes = "contacts:read channels:admin"
	hour := time.Now().UTC().Truncate(time.Hour).Add(-24 * time.Hour)
	r := newRigAfter(t, func(r *rig) {
		store := r.open()
		if err := store.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close(t.Context()) }()
		ch, _, err := store.PutChannel(t.Context(), weir.Channel{Name: "texts", Type: "nuntium", Capacity: 7, Paused: true, Settings: weir.Settings{"base_url": "http://127.0.0.1:1", "account": "a", "application": "b", "channel": "c", "password": "p"}})
		if err != nil {
			t.Fatal(err)
		}
		var list []operators.Minute
		for i := range 60 {
			at := hour.Add(time.Duration(i) * time.Minute)
			list = append(list, operators.Minute{Channel: ch.ID, At: at, Gauged: true, InFlight: 3, MaxInFlight: 3, Capacity: 4, Counts: [operators.Counters]int64{operators.CountSent: 2}},
				operators.Minute{Channel: ch.ID, At: at.AddDate(0, 0, -7), Gauged: true, InFlight: 1, MaxInFlight: 1, Capacity: 4})
		}
		if _, err := store.AddMinutes(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}, nil, scopes)
	b := r.login(scopes)
	where := fmt.Sprintf("at most 50 %%, %s at %02d:00", hour.Format("Mon"), hour.Hour())
	b.get("/channels/texts").want(200).has("Utilization by weekday and hour, mean of four weeks, in UTC: "+where, "Utilization of the last 14 days, in UTC: at most 75 %", "Contacts sent in the last 14 days, in UTC: at most 120, ", "<td>75 %</td>", "<td>50 %</td>", "<td>25 %</td>", "<dt>Queue empty</dt><dd>–</dd>")
	r.api("POST", "/v1/channels/texts/contacts", `{"contacts":[{"key":"k-1","to":"`+numberCanary+`","messages":["hello"]}]}`, nil)
	r.soon(func() bool {
		return strings.Contains(b.get("/channels/texts").want(200).body, "<dt>Queue empty</dt><dd>not yet known</dd>")
	})
}

// Scenario 352.
func TestSurveys_CalendarShowsAllSurveysOverAllChannels(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope, "surveys:admin")
	b := r.login(surveyScope)
	b.get("/surveys").want(200).has(`href="/surveys/_calendar"`)
	b.get("/surveys/_calendar").want(200).has("No surveys in these weeks")
	r.survey("flu", 1)
	r.survey("measles", 0)
	for _, name := range []string{"flu", "measles"} {
		for page := range 3 {
			var rows []string
			for i := range 500 {
				rows = append(rows, fmt.Sprintf(`{"phone":"+1212%07d","attributes":{"first_name":"Ana","sex":"m"}}`, 5550000+1000+500*page+i))
			}
			r.api("POST", "/v1/surveys/"+name+"/respondents", `{"respondents":[`+strings.Join(rows, ",")+`]}`, nil)
		}
		r.api("PATCH", "/v1/surveys/"+name, `{"quotas":[],"limit_per_minute":1000}`, nil)
	}
	r.soon(func() bool { return strings.Contains(b.get("/surveys/_calendar").want(200).body, ">measles</a>") })
	b.get("/surveys/_calendar").has(`href="/surveys/flu"`, `href="/channels/texts"`, "7 slots", "More than texts can do within the windows", "Show as table", "flu, measles").hasNot(numberCanary)
	// Whoever may not see channels sees the surveys without capacities.
	r.login("surveys:admin").get("/surveys/_calendar").want(200).has(`href="/surveys/flu"`, "capacity not known").hasNot("More than")
}
