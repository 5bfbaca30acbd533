package dashboard_test

import (
	"html"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard"
	"weir/web/dashboard/locale"
)

// inOtherWords requires that a page of another language has each reason in it and none in English.
func inOtherWords(t *testing.T, l *locale.Locale, path, page string, reasons ...string) {
	t.Helper()
	page = html.UnescapeString(page)
	for _, reason := range reasons {
		if l.Reason(reason) == reason {
			t.Errorf("%s has no words for %q", l.Code, reason)
		}
		if strings.Contains(page, reason) {
			t.Errorf("%s in %s has %q in English:\n%s", path, l.Code, reason, page)
		}
		if !strings.Contains(page, l.Reason(reason)) {
			t.Errorf("%s in %s has no %q:\n%s", path, l.Code, l.Reason(reason), page)
		}
	}
}

// Why contacts failed and wait is in the language of the page, wherever a page names it.
func TestReasons_OfContactsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	var failed string
	r := newRigAfter(t, func(r *rig) { failed = r.addFailed("gone", 2, channels.NumberNotUsable)[0] }, nil, "router")
	r.channel("texts")
	r.api("POST", "/v1/consents", `{"consents":[{"to":"`+numberCanary+`","status":"refused","words":"no"}]}`, nil)
	b := r.login("admin")
	var list api.ContactList
	r.api("GET", "/v1/contacts?channel=texts", "", &list)
	waiting := list.Contacts[0].ID
	refused := "refused: a refusal was recorded"
	for _, l := range locale.New().List()[1:] {
		b.cookies["weir_language"] = l.Code
		for _, path := range []string{
			"/contacts?state=done", "/contacts?channel=gone", "/contacts/" + failed, "/dead-letters", "/dead-letters/list", "/dead-letters/list?reason=number+not+usable",
			"/dead-letters/requeue?reason=number+not+usable",
		} {
			page := b.get(path).want(200)
			inOtherWords(t, l, path, strings.ReplaceAll(page.body, `value="`+channels.NumberNotUsable+`"`, ""), channels.NumberNotUsable) // a hidden field
		}
		paused := strings.ReplaceAll(l.Text("channel {channel} is paused"), "{channel}", "texts")
		for _, path := range []string{"/contacts", "/contacts?channel=texts", "/channels/texts", "/contacts/" + waiting} {
			b.get(path).want(200).hasNot("channel texts is paused").has(paused)
		}
		person := b.post("/people", url.Values{"to": {numberCanary}}).want(200)
		person.hasNot("channel texts is paused", "For default").has(paused)
		inOtherWords(t, l, "/people", person.body, channels.NumberNotUsable, refused)
	}
	b.cookies["weir_language"] = "en"
	b.post("/people", url.Values{"to": {numberCanary}}).want(200).has("channel texts is paused", channels.NumberNotUsable, "For default the person is not contacted: "+refused)
}

// The same for the channels that do not work, which the pages of channels and surveys name.
func TestReasons_OfChannelsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	const down = "kannel: status of bearerbox: credentials refused; check admin_url and status_password"
	braked := &weir.Braked{Cause: weir.BrakeReason, Reason: channels.NumberNotUsable, Count: 9, Of: 20, Percent: 30, Text: `paused itself: 9 of the last 20 contacts ended with the reason "number not usable", the bound is 30 %`}
	why := operators.NewWhy(operators.WhyError, operators.TextUnavailable, "channel", "a", "state", "down", "reason", down).View()
	one := api.ChannelView{Channel: "a", Capacity: 24, State: string(weir.Erring), StateReason: down, WhyView: why, Brake: &api.Brake{Reasons: map[string]int{channels.NumberNotUsable: 30}}, Braked: braked}
	survey := api.SurveyView{SurveySummary: api.SurveySummary{Survey: "a", State: surveys.Running}, WhyView: why}
	stats := api.StatsView{Channels: []api.ChannelUseView{{Mode: "sms", Channel: "a", State: string(weir.Erring), Reason: down}, {Mode: "ivr", Channel: "b", State: string(weir.Paused), Reason: braked.Text}}}
	d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: answers{
		"/v1/whoami":          api.WhoView{Token: "t", Scopes: []string{string(operators.ScopeChannelsAdmin), string(operators.ScopeSurveysAdmin)}},
		"/v1/channels":        map[string]any{"channels": []api.ChannelView{one}},
		"/v1/channels/a":      one,
		"/v1/surveys/a":       survey,
		"/v1/surveys/a/stats": stats,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locale.New().List()[1:] {
		for path, pattern := range map[string]string{"/": "GET /{$}", "/channels/a": "GET /channels/{name}", "/surveys/a": "GET /surveys/{name}"} {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			r.SetPathValue("name", "a")
			r.Header.Set("Accept-Language", l.Code)
			d.Routes()[pattern].ServeHTTP(w, r)
			reasons := []string{down}
			if path == "/surveys/a" {
				reasons = append(reasons, braked.Text)
			}
			inOtherWords(t, l, path, w.Body.String(), reasons...)
			if slices.Contains([]string{"/channels/a", "/surveys/a"}, path) && !strings.Contains(html.UnescapeString(w.Body.String()), l.Reason(channels.NumberNotUsable)) {
				t.Errorf("%s in %s has no words for the reason of the brake", path, l.Code)
			}
		}
	}
}
