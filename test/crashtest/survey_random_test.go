package crashtest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

// The maximum number of attempts of each mode in these surveys.
const (
	callAttempts = 3
	textAttempts = 2
)

// TestSurveys_SurviveKillsAtRandomMoments kills the program at random moments while two surveys run that
// share their channels: calls first, then texts, with people who answer, ask again or
// send STOP, and an application that reports.
func TestSurveys_SurviveKillsAtRandomMoments(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			w := newSurveyWorld(t, database(t, store), from)
			chance := rand.New(rand.NewPCG(from, 5))
			for w.kills < size().surveyKills {
				if w.over() {
					w.launch()
				}
				w.killOnce(chance)
			}
			w.broker.kill()
			w.kills++ // it loses sight of as many contacts as any other
			w.broker.start("")
			w.broker.up()
			w.settle(store)
		})
	}
}

// surveyWorld is a broker with surveys, their respondents and their application.
type surveyWorld struct {
	*rig
	calls, texts         *outside
	callSeen, textSeen   *records
	heard                *heard
	crowd                *crowd
	app                  *application
	surveys              []string
	phones               map[string]string // survey of each respondent, by number
	people               int               // in each survey
	points, points1stHit int
}

func newSurveyWorld(t *testing.T, database string, from uint64) *surveyWorld {
	t.Helper()
	w := &surveyWorld{rig: &rig{t: t, broker: newBroker(t, database), pulse: newPulse(t)}, people: size().respondents, phones: map[string]string{}}
	w.api = newClient(t, w.broker.url)
	w.app = newApplication(t, w.api)
	w.calls, w.callSeen = newSurveyCalls(t, from)
	var write func(guid, from, text string)
	w.texts, w.textSeen, w.heard, write = newSurveySMS(t, from)
	w.crowd = newCrowd(t, write, party{w.calls, w.callSeen}, party{w.texts, w.textSeen})
	w.broker.start("")
	w.broker.up()
	for _, o := range []*outside{w.calls, w.texts} {
		w.api.insist(http.MethodPut, "/v1/channels/"+o.channel, map[string]any{
			"type": o.kind, "capacity": o.capacity, "settings": o.settings,
		}, http.StatusCreated, nil)
	}
	w.launch()
	return w
}

// launch defines, fills and launches two more surveys.
func (w *surveyWorld) launch() {
	w.t.Helper()
	for range 2 {
		n := len(w.surveys)
		name := fmt.Sprint("s", n)
		w.surveys = append(w.surveys, name)
		path := "/v1/surveys/" + name
		w.put(path, w.definition())
		var rows []map[string]any
		for i := range w.people {
			phone := fmt.Sprintf("+1555%07d", n*10_000+i)
			w.phones[phone] = name
			rows = append(rows, map[string]any{"phone": phone, "attributes": map[string]any{"first_name": "Ana"}})
		}
		w.api.insist(http.MethodPost, path+"/respondents", map[string]any{"respondents": rows}, http.StatusOK, nil)
	}
	for _, name := range w.surveys[len(w.surveys)-2:] {
		w.api.insist(http.MethodPost, "/v1/surveys/"+name+":launch", map[string]any{}, http.StatusOK, nil)
	}
}

func (w *surveyWorld) put(path string, body any) {
	w.t.Helper()
	if a := w.api.do(w.t.Context(), http.MethodPut, path, body); a.status != http.StatusCreated {
		w.t.Fatalf("PUT %s: %d %s", path, a.status, a.body)
	}
}

// zone returns a time zone in which it is the middle of the day, so that no window
// closes while the test runs.
func zone(now time.Time) string {
	switch h := now.UTC().Hour(); {
	case h < 6:
		return "Etc/GMT-8" // eight hours ahead
	case h >= 18:
		return "Etc/GMT+8"
	default:
		return "UTC"
	}
}

func (w *surveyWorld) definition() map[string]any {
	who := "?survey={{survey}}&respondent={{respondent}}&attempt={{attempt}}"
	return map[string]any{
		"schedule": map[string]any{
			"time_zone": zone(time.Now()), "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
			"windows": []map[string]string{{"from": "00:00", "to": "24:00"}},
		},
		"modes": map[string]any{
			"ivr": map[string]string{"channel": "calls", "retries": "1s 2s"},
			"sms": map[string]string{"channel": "sms", "retries": "2s"},
		},
		"arms": []map[string]any{{"modes": []string{"ivr", "sms"}}},
		"questionnaires": map[string]any{"main": map[string]any{
			"ivr": []any{map[string]any{"call": map[string]string{"callback_url": w.app.url + "/call" + who}}},
			"sms": []any{map[string]any{"messages": []string{outreachName("{{survey}}", "{{respondent}}", "sms", "{{attempt}}")}}},
		}},
		"fallback_delay": "1s", "limit_per_minute": size().surveyPace,
		"application": map[string]string{"url": w.app.url + "/messages", "secret": "secret"},
	}
}

// killOnce lets the program live for a moment, mostly until a random instant,
// sometimes until a durable boundary.
func (w *surveyWorld) killOnce(chance *rand.Rand) {
	w.t.Helper()
	rest(nil, time.Duration(chance.IntN(700))*time.Millisecond)
	w.broker.kill()
	w.kills++
	if chance.IntN(4) == 0 {
		point := []string{"survey.before", "survey.committed"}[chance.IntN(2)]
		w.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(6)))
		w.points++
		if w.broker.died(10*time.Second) == nil {
			w.points1stHit++
		}
		w.broker.kill()
		w.kills++
	}
	w.broker.start("")
	if chance.IntN(10) > 0 {
		w.broker.up()
	}
}

// over reports whether all surveys are done, as far as that is known now.
func (w *surveyWorld) over() bool {
	for _, name := range w.surveys {
		var s struct{ State string }
		a := w.api.do(w.t.Context(), http.MethodGet, "/v1/surveys/"+name, nil)
		if a.status != http.StatusOK || json.Unmarshal(a.body, &s) != nil || s.State != "done" {
			return false
		}
	}
	return true
}

// settle lets the surveys end and checks everything.
func (w *surveyWorld) settle(store string) {
	w.t.Helper()
	began := time.Now()
	for !w.over() {
		if time.Since(began) > 3*time.Minute {
			a := w.api.do(w.t.Context(), http.MethodGet, "/v1/surveys/"+w.surveys[len(w.surveys)-1]+"/stats", nil)
			w.t.Fatalf("the surveys are not over: %s", a.body)
		}
		rest(nil, 100*time.Millisecond)
	}
	for _, o := range []*outside{w.calls, w.texts} {
		w.finished(o)
	}
	w.crowd.end()
	w.app.work.Wait()
	w.judge(store, time.Since(began))
	w.broker.terminate()
}
