package dashboard_test

import (
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/internal/document"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard"
	"weir/web/dashboard/locale"
)

// Scenario 121: the page of anything that waits shows the reason.
func TestWhy_PagesShowWhySomethingWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.survey("flu", 2)
	r.routed()
	b := r.login("admin")
	reason := func(path, sentence string) {
		t.Helper()
		b.get(path).want(200).has(`id="why"`, sentence)
	}
	r.channel("a")
	var list api.ContactList
	r.api("GET", "/v1/contacts?channel=a&state=queued", "", &list)
	if len(list.Contacts) == 0 || !strings.Contains(list.Contacts[0].Why, "channel a is paused") {
		t.Fatalf("the contacts of the channel: %+v", list.Contacts)
	}
	reason("/contacts/"+list.Contacts[0].ID, "channel a is paused")
	reason("/channels/a", "channel a is paused")
	b.get("/contacts?channel=a").want(200).has("channel a is paused")
	reason("/surveys/flu", "a draft contacts no respondents; launch it")
	var people api.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &people)
	reason("/surveys/flu/respondents/"+people.Respondents[0].ID, "a draft contacts no respondents; launch it")
	reason("/router/jobs/one", "offered to worker ann; the offer expires at ")
}

// Scenario 121: this also holds for the page of a survey that another version of
// Weir stored and this one cannot run.
func TestWhy_PageSaysThatASurveyCannotBeRun(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) {
		store := r.open()
		defer func() { _ = store.Close(t.Context()) }()
		if err := store.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		flu, _, err := store.PutSurvey(t.Context(), surveys.Survey{Name: "flu"}, document.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		flu.State = surveys.Running
		if _, err := store.UpdateSurvey(t.Context(), flu); err != nil {
			t.Fatal(err)
		}
	}, nil, "router")
	b := r.login("admin")
	b.get("/surveys/flu").want(200).has(`id="why"`, "the definition cannot be run: ", "No statistics")
	var survey api.SurveyView
	r.api("GET", "/v1/surveys/flu", "", &survey)
	var mistakes []string
	for _, c := range survey.WhyClauses {
		if m := c.Fields["mistake"]; m != "" {
			mistakes = append(mistakes, m)
		}
	}
	if len(mistakes) < 2 {
		t.Fatalf("%+v", survey.WhyClauses)
	}
	for _, l := range locale.New().List() {
		page := b.get("/surveys/flu", "Accept-Language", l.Code).want(200)
		for _, m := range mistakes {
			page.has(template.HTMLEscapeString(l.Mistake(m)))
			if l.Code != "en" && l.Mistake(m) == m {
				t.Errorf("%s: %q is not translated", l.Code, m)
			}
		}
	}
}

// A limit that only paces contacts is gray on a channel's page, and an alarm once nothing
// moves. Instants are marked up for the reader's zone, and text is escaped.
func TestChannelPage_PacingIsNoAlarm(t *testing.T) {
	t.Parallel()
	full := operators.NewWhy(operators.WhyCapacity, operators.TextSlots, "channel", "a", "used", 24, "capacity", 24)
	for name, x := range map[string]struct {
		why          operators.Why
		idle, oldest time.Duration
		want         string
	}{
		"busy":    {full, time.Second, time.Hour, `<p class="why" id="why"><strong>At capacity:</strong> 24 of 24 slots in use.</p>`},
		"new":     {full, time.Hour, time.Second, `<p class="why" id="why"><strong>At capacity:</strong>`},
		"long":    {full, time.Hour, time.Hour, `<p class="why" id="why"><strong>At capacity:</strong> 24 of 24 slots in use.</p>`},
		"stalled": {operators.NewWhy(operators.WhyRate, operators.TextReason, "reason", "the rate limit"), time.Hour, time.Hour, `<p class="why reason" id="why"><strong>Nothing has moved for a minute:</strong> the rate limit.</p>`},
		"rate":    {operators.NewWhy(operators.WhyRate, operators.TextReason, "reason", "<b>").And(operators.NewClause(operators.TextNextAt, "at", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))), 0, time.Hour, `<strong>Pacing:</strong> &lt;b&gt;; the next is dispatched at <time datetime="2026-01-02T03:04:05Z">2026-01-02 03:04:05 UTC</time>.</p>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now() // of this subtest, which may have waited for its turn
			idle, oldest := now.Add(-x.idle), now.Add(-x.oldest)
			d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: answers{
				"/v1/whoami":     api.WhoView{Token: "t", Scopes: []string{string(operators.ScopeChannelsAdmin)}},
				"/v1/channels/a": api.ChannelView{Channel: "a", Capacity: 24, State: string(weir.Up), WhyView: x.why.View(), IdleSince: idle, OldestQueuedAt: oldest},
			}})
			if err != nil {
				t.Fatal(err)
			}
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/channels/a", nil)
			r.SetPathValue("name", "a")
			d.Routes()["GET /channels/{name}"].ServeHTTP(w, r)
			if !strings.Contains(w.Body.String(), x.want) {
				t.Errorf("status %d, want %s in:\n%s", w.Code, x.want, w.Body)
			}
		})
	}
}

// answers serves values as JSON, by their path; nothing else has anything.
type answers map[string]any

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if v, ok := a[r.URL.Path]; ok {
		_ = json.NewEncoder(w).Encode(v)
		return
	}
	_, _ = w.Write([]byte("{}"))
}

// In another language nothing of the reason is in English; names of channels and the words of a provider stay.
func TestWhy_IsInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	person := operators.NewWhy(operators.WhyPerson, operators.TextPerson, "at", at, "reason", "quiet hours of the purpose research", "rule", "quiet_hours")
	step := operators.NewWhy(operators.WhyRetry, operators.TextFirstAttempt, "mode", "ivr", "at", at, "day", "Fri", "time", "04:04", "zone", "Africa/Lagos").And(operators.ReasonClause("<busy>")...)
	for code, want := range map[string][]string{
		"es": {`hasta <time datetime="2026-01-02T03:04:05Z">2026-01-02 03:04:05 UTC</time>: horas de silencio de la persona`, `el primer intento por ivr está previsto para`, `(vie 04:04 Africa/Lagos); &lt;busy&gt;`},
		"pt": {`até <time`, `a primeira tentativa por ivr`, `(sex 04:04`},
		"fr": {`jusqu’à <time`, `la première tentative par ivr`, `(ven. 04:04`},
		"en": {`: quiet hours of the person`, `the first attempt by ivr`, `(Fri 04:04 Africa/Lagos); &lt;busy&gt;`},
	} {
		d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: answers{
			"/v1/whoami":     api.WhoView{Token: "t", Scopes: []string{string(operators.ScopeChannelsAdmin)}},
			"/v1/channels/a": api.ChannelView{Channel: "a", Capacity: 24, State: string(weir.Up), WhyView: person.And(step.Clauses...).View()},
		}})
		if err != nil {
			t.Fatal(err)
		}
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/channels/a", nil)
		r.SetPathValue("name", "a")
		r.Header.Set("Accept-Language", code)
		d.Routes()["GET /channels/{name}"].ServeHTTP(w, r)
		for _, part := range want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: want %s in\n%s", code, part, w.Body)
			}
		}
	}
}
