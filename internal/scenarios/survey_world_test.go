package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	surveybroker "weir/actors/surveys"
	"weir/channels"
	"weir/persistence/testmysql"
	"weir/surveys"
	"weir/web"
)

// surveyTiming configures how a world runs surveys.
type surveyTiming struct {
	every time.Duration // the longest pause between rounds
	check time.Duration // between checks of channels
}

// onSurveys plays a scenario of surveys on both stores.
func onSurveys(t *testing.T, play func(*world)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		inSurveyBubble(t, time.Time{}, play)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, testmysql.URL(t))
		w.timing = &surveyTiming{every: 5 * time.Second, check: 5 * time.Minute}
		w.start()
		play(w)
	})
}

// onSurveysFrom plays a scenario of surveys in virtual time, from an instant on.
func onSurveysFrom(t *testing.T, from time.Time, play func(*world)) {
	t.Parallel()
	inSurveyBubble(t, from, play)
}

// monday returns an instant of a day on which only the scenario's own events happen.
func monday(hour, minute int) time.Time { return time.Date(2026, 1, 12, hour, minute, 0, 0, time.UTC) }

func inSurveyBubble(t *testing.T, from time.Time, play func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		time.Sleep(time.Until(from))
		w := newWorld(t, "sqlite://:memory:")
		w.virtual = true
		// Periodic polls are expensive in a virtual day, so they are rare here; everything
		// that matters is signaled.
		w.timing = &surveyTiming{every: 10 * time.Minute, check: 5 * time.Minute}
		w.core.ReconcileEvery = 10 * time.Minute
		w.start()
		play(w)
	})
}

// skipTo lets time pass until an instant while no process runs, so that a virtual
// night costs nothing.
func (w *world) skipTo(until time.Time) {
	w.Helper()
	w.crash()
	time.Sleep(time.Until(until))
	w.start()
	synctest.Wait()
}

// startSurveys starts the survey broker and connects the API to it.
func (w *world) startSurveys(directory *channels.Directory, o *web.Options) {
	w.Helper()
	key, err := w.store.TokenKey(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	o.Tokens = surveys.NewTokens(key)
	w.surveys, err = surveybroker.Start(surveybroker.Options{
		System: w.actors,
		Store: surveybroker.Store{
			SurveyStore: w.store, ChannelReader: w.store, RespondentReader: w.store, PacingReader: w.store, Worker: w.store, Outbox: w.store,
			ChannelStateStore: w.store, ContactReader: w.store,
		},
		Channels: w.system, Types: directory, People: w.store, Start: w.store.Start(), Logger: w.logger(), Metrics: surveybroker.NewMetrics(w.metrics),
		Defaults:      surveys.Defaults{Batch: 10000, LimitPerMinute: 10000, InitialSuccessRate: 1},
		RoundInterval: w.timing.every, CheckEvery: w.timing.check, CheckTimeout: 15 * time.Second,
		Random: func() float64 { return 0.5 }, Tokens: o.Tokens,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(w.surveys.Close)
	o.Surveys, o.SurveyStore, o.Importer = w.surveys, w.store, w.store
}

// always returns a schedule that is always open.
func always() fields { return daily("UTC", "00:00", "24:00") }

// daily returns a schedule that is open every day from one local time to another.
func daily(zone, from, to string) fields {
	return fields{
		"time_zone": zone, "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
		"windows": []fields{{"from": from, "to": to}},
	}
}

// surveyBody returns the body of a survey that tries modes one after the other, each over
// a channel: sms over texts, ivr over calls, mobileweb over links. The lab identifies
// its contacts by the keys that textKey, callKey and linkKey return.
func surveyBody(modes []string, more ...fields) fields {
	channel := map[string]string{"sms": "texts", "ivr": "calls", "mobileweb": "links"}
	content := map[string]fields{
		"sms":       {"messages": []string{"{{survey}} {{respondent}} {{attempt}}"}},
		"ivr":       {"call": fields{"callback_url": callURL("{{survey}}/{{respondent}}/{{attempt}}")}},
		"mobileweb": {"messages": []string{"link {{survey}} {{respondent}} {{attempt}}"}},
	}
	used, words := fields{}, fields{}
	for _, m := range modes {
		used[m], words[m] = fields{"channel": channel[m]}, []fields{content[m]}
	}
	body := fields{"schedule": always(), "modes": used, "arms": []fields{{"modes": modes}}, "questionnaires": fields{"q": words}}
	for _, m := range more {
		maps.Copy(body, m)
	}
	return body
}

// bySMS returns a survey by text with a retry schedule.
func bySMS(retries string, more ...fields) fields { return surveyByMode("sms", retries, more) }

// byIVR returns a survey by calls with a retry schedule.
func byIVR(retries string, more ...fields) fields { return surveyByMode("ivr", retries, more) }

func surveyByMode(mode, retries string, more []fields) fields {
	body := surveyBody([]string{mode}, more...)
	retrySchedule(body, mode, retries)
	return body
}

// retrySchedule sets the retries of a mode.
func retrySchedule(body fields, mode, retries string) {
	body["modes"].(fields)[mode].(fields)["retries"] = retries
}

func textKey(survey, respondent string, attempt int) string {
	return fmt.Sprintf("%s %s %d", survey, respondent, attempt)
}

func linkKey(survey, respondent string, attempt int) string {
	return "link " + textKey(survey, respondent, attempt)
}

func callKey(survey, respondent string, attempt int) string {
	return callURL(fmt.Sprintf("%s/%s/%d", survey, respondent, attempt))
}

// number returns a phone number.
func number(n int) string { return "+1202" + strconv.Itoa(2000000+n) }

// createSurvey stores a survey with this many respondents, whose numbers begin at first,
// and returns their ids.
func (w *world) createSurvey(name string, body fields, first, people int) []string {
	w.Helper()
	a := w.call("PUT", "/v1/surveys/"+name, body)
	if a.Status != http.StatusCreated {
		w.Fatalf("survey %s: %d %s", name, a.Status, a.Text)
	}
	var list []fields
	for i := range people {
		list = append(list, fields{"phone": number(first + i)})
	}
	return w.addRespondents(name, list...)
}

// addRespondents adds respondents to a survey and returns their ids.
func (w *world) addRespondents(name string, list ...fields) []string {
	w.Helper()
	var ids []string
	for len(list) > 0 {
		n := min(len(list), 1000)
		a := w.want(http.StatusOK, "POST", "/v1/surveys/"+name+"/respondents", fields{"respondents": list[:n]})
		for _, r := range a.Body["respondents"].([]any) {
			ids = append(ids, r.(map[string]any)["id"].(string))
		}
		list = list[n:]
	}
	return ids
}

// launchSurvey stores a survey with respondents and launches it.
func (w *world) launchSurvey(name string, body fields, first, people int) []string {
	w.Helper()
	ids := w.createSurvey(name, body, first, people)
	w.surveyCommand(name, "launch")
	return ids
}

// surveyCommand asks a survey to launch, pause, resume or stop.
func (w *world) surveyCommand(name, step string) {
	w.Helper()
	w.want(http.StatusOK, "POST", "/v1/surveys/"+name+":"+step, nil)
}

// surveyState returns the state of a survey and its cause.
func (w *world) surveyState(name string) string {
	w.Helper()
	v := w.want(http.StatusOK, "GET", "/v1/surveys/"+name, nil).Body
	if v["cause"] == nil {
		return v["state"].(string)
	}
	return v["state"].(string) + " " + v["cause"].(string)
}

// respondent reads a respondent.
func (w *world) respondent(survey, id string) map[string]any {
	w.Helper()
	return w.want(http.StatusOK, "GET", "/v1/surveys/"+survey+"/respondents/"+id, nil).Body
}

// respondentState returns the status and the disposition of a respondent.
func (w *world) respondentState(survey, id string) string {
	w.Helper()
	p := w.respondent(survey, id)
	return p["status"].(string) + ", " + p["disposition"].(string)
}

// expectRespondent waits until a respondent has this status and disposition.
func (w *world) expectRespondent(survey, id, want string) {
	w.Helper()
	w.until(id+" is "+want, func() bool { return w.respondentState(survey, id) == want })
}

// attemptsMade returns how many attempts of a mode were made with a respondent.
func (w *world) attemptsMade(survey, id, mode string) int {
	w.Helper()
	n, _ := w.respondent(survey, id)["attempts"].(map[string]any)[mode].(float64)
	return int(n)
}

// statusCounts returns the number of a survey's respondents by status.
func (w *world) statusCounts(survey string) map[string]int {
	w.Helper()
	out := map[string]int{}
	for status, n := range w.want(http.StatusOK, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["by_status"].(map[string]any) {
		if n := int(n.(float64)); n > 0 {
			out[status] = n
		}
	}
	return out
}

// reportDisposition makes the application report about a respondent.
func (w *world) reportDisposition(survey, id string, body fields) map[string]any {
	w.Helper()
	return w.want(http.StatusOK, "POST", "/v1/surveys/"+survey+"/respondents/"+id+"/disposition", body).Body
}

// receiveMessage makes a person send a message to a channel.
func (w *world) receiveMessage(channel, from, text string) {
	w.Helper()
	w.until("channel "+channel+" has an address", func() bool {
		w.lab.mu.Lock()
		defer w.lab.mu.Unlock()
		return w.lab.address[channel] != ""
	})
	q := url.Values{"from": {from}, "body": {text}, "guid": {text + from}}
	w.want(http.StatusOK, "POST", w.lab.address[channel]+"/incoming?"+q.Encode(), nil)
}

// publishedEvents lists the published events of a type.
func (w *world) publishedEvents(kind string) []map[string]any {
	w.Helper()
	var out []map[string]any
	for _, e := range w.want(http.StatusOK, "GET", "/v1/events?limit=1000&type="+kind, nil).Body["events"].([]any) {
		out = append(out, e.(map[string]any)["data"].(map[string]any))
	}
	return out
}

// endContacts makes the provider accept everything and end it after a while, in virtual
// time.
func (w *world) endContacts(of func(labAttempt) (time.Duration, string)) {
	w.Helper()
	w.lab.behave(func(l *lab) {
		l.onSend = sendAndEnd(w, of)
	})
}

// expectNoFaults fails the test if anything in the survey broker panicked or failed.
func (w *world) expectNoFaults() {
	w.Helper()
	for _, name := range []string{"weir_survey_broker_panics_total", "weir_survey_broker_restarts_total", "weir_survey_respondents_stumbled_total", "weir_survey_rounds_failed_total"} {
		if n := w.metric(name); n > 0 {
			w.Errorf("%s is %v", name, n)
		}
	}
}

func sendAndEnd(w *world, of func(labAttempt) (time.Duration, string)) func(context.Context, labAttempt) channels.SendResult {
	return func(_ context.Context, a labAttempt) channels.SendResult {
		sent := w.lab.take(a)
		if after, outcome := of(a); outcome != "" {
			w.afterFunc(after, func() { w.reportAttempt(a, "all", outcome) })
		}
		return sent
	}
}

// afterFunc runs do after wait, but not once the test has ended.
func (w *world) afterFunc(wait time.Duration, do func()) {
	var done sync.WaitGroup
	done.Add(1)
	timer := time.AfterFunc(wait, func() {
		defer done.Done()
		do()
	})
	w.Cleanup(func() {
		if !timer.Stop() {
			done.Wait()
		}
	})
}
