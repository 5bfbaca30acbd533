package dashboard_test

import (
	"fmt"
	"html"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard"
	"weir/web/dashboard/locale"
)

// brakeWords are what pages say of each cause, by language.
func brakeWords() map[string]map[weir.BrakeCause]string {
	return map[string]map[weir.BrakeCause]string{
		"en": {
			weir.BrakeOptedOut: "9 of the last 20 contacts opted out", weir.BrakeFailed: "9 of the last 20 contacts failed", weir.BrakeReason: "9 of the last 20 contacts ended with the reason",
		},
		"es": {
			weir.BrakeOptedOut: "9 de los últimos 20 contactos se dieron de baja", weir.BrakeFailed: "9 de los últimos 20 contactos fallaron", weir.BrakeReason: "9 de los últimos 20 contactos terminaron con el motivo", //nolint:misspell // Spanish
		},
		"fr": {
			weir.BrakeOptedOut: "9 des 20 derniers contacts se sont désinscrits", weir.BrakeFailed: "9 des 20 derniers contacts ont échoué", weir.BrakeReason: "9 des 20 derniers contacts se sont terminés avec le motif",
		},
		"pt": {
			weir.BrakeOptedOut: "9 dos últimos 20 contatos se descadastraram", weir.BrakeFailed: "9 dos últimos 20 contatos falharam", weir.BrakeReason: "9 dos últimos 20 contatos terminaram com o motivo",
		},
	}
}

// brakeActs are what brakes can have acted on: each cause, and reasons of Weir and of a provider.
func brakeActs(t *testing.T) (list []weir.Braked) {
	t.Helper()
	for _, cause := range weir.BrakeCauses() {
		b := weir.Braked{At: time.Now().Add(-time.Minute), Cause: cause, Count: 9, Of: 20, Percent: 30, Touched: 340}
		switch cause {
		case weir.BrakeOptedOut:
			b.Text = "paused itself: 9 of the last 20 contacts opted out, the bound is 30 %"
		case weir.BrakeFailed:
			b.Text = "paused itself: 9 of the last 20 contacts failed, the bound is 30 %"
		case weir.BrakeReason:
			for _, b.Reason = range []string{channels.NumberNotUsable, channels.MessageNotAcceptable, channels.RateLimited, channels.WindowClosed, channels.Machine, "region not permitted", "crédito agotado"} {
				b.Text = fmt.Sprintf("paused itself: 9 of the last 20 contacts ended with the reason %q, the bound is 30 %%", b.Reason)
				list = append(list, b)
			}
			continue
		default:
			t.Errorf("the cause %s has no words here", cause)
		}
		list = append(list, b)
	}
	return list
}

// Why a channel or a survey has paused itself is in the language of every page that says it, with the reason that passed
// its bound; a reason in the words of a provider stays.
func TestBrake_ActsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	for _, b := range brakeActs(t) {
		t.Run(string(b.Cause)+" "+b.Reason, func(t *testing.T) {
			t.Parallel()
			rule := &api.Brake{OptedOut: 30, Failed: 30, Reasons: map[string]int{}}
			if b.Reason != "" {
				rule.Reasons[b.Reason] = 30
			}
			paused := weir.Channel{Name: "a", Paused: true, Braked: &b}
			channel := api.ChannelView{Channel: "a", Capacity: 24, State: string(weir.Paused), WhyView: operators.WhyBlocked(&paused).View(), Brake: rule, Braked: &b}
			survey := api.SurveyView{SurveySummary: api.SurveySummary{Survey: "a", State: surveys.Paused, Braked: &b}, WhyView: operators.WhySurveyBraked(&b).View()}
			survey.Brake = rule
			d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: answers{
				"/v1/whoami":          api.WhoView{Token: "t", Scopes: []string{string(operators.ScopeChannelsAdmin), string(operators.ScopeSurveysAdmin)}},
				"/v1/channels":        map[string]any{"channels": []api.ChannelView{channel}},
				"/v1/channels/a":      channel,
				"/v1/surveys/a":       survey,
				"/v1/surveys/a/stats": api.StatsView{Channels: []api.ChannelUseView{{Mode: "sms", Channel: "a", State: string(weir.Paused), Reason: b.Text}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range locale.New().List() {
				want := brakeWords()[l.Code][b.Cause]
				for path, x := range map[string]struct {
					pattern string
					times   int
				}{
					"/": {"GET /{$}", 1}, "/channels/a": {"GET /channels/{name}", 1}, "/surveys/a": {"GET /surveys/{name}", 3}, // why, the brake, and the channel in use
				} {
					w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
					r.SetPathValue("name", "a")
					r.Header.Set("Accept-Language", l.Code)
					d.Routes()[x.pattern].ServeHTTP(w, r)
					page := html.UnescapeString(w.Body.String())
					if n := strings.Count(page, want); n < x.times {
						t.Errorf("%s in %s has %q %d times, want %d:\n%s", path, l.Code, want, n, x.times, page)
					}
					if l.Code != "en" && strings.Contains(page, "of the last 20 contacts") {
						t.Errorf("%s in %s has the act in English:\n%s", path, l.Code, page)
					}
					if b.Reason == "" {
						continue
					}
					if !strings.Contains(page, l.Reason(b.Reason)) {
						t.Errorf("%s in %s has no %q:\n%s", path, l.Code, l.Reason(b.Reason), page)
					}
					if l.Reason(b.Reason) != b.Reason && (strings.Contains(page, strconv.Quote(b.Reason)) || strings.Contains(page, "« "+b.Reason)) {
						t.Errorf("%s in %s has %q in English:\n%s", path, l.Code, b.Reason, page)
					}
				}
			}
		})
	}
}
