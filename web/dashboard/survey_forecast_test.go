package dashboard_test

import (
	"html"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/api"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard"
)

// surveyPage returns the page of a survey in a language, without tags, of a Weir that answers as given.
func surveyPage(t *testing.T, language string, api answers) string {
	t.Helper()
	return surveyPages(t, api)(language)
}

// surveyPages returns what reads the page of a survey in a language, as surveyPage does, each time of the same dashboard.
func surveyPages(t *testing.T, api answers) func(language string) string {
	t.Helper()
	d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler), Ending: func() bool { return false }, API: api})
	if err != nil {
		t.Fatal(err)
	}
	return func(language string) string {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/surveys/a", nil)
		r.SetPathValue("name", "a")
		r.Header.Set("Accept-Language", language)
		d.Routes()["GET /surveys/{name}"].ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%s: status %d", language, w.Code)
		}
		return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(w.Body.String(), ""))
	}
}

// surveyAnswers are those of a Weir with one survey, which runs.
func surveyAnswers() answers {
	return answers{
		"/v1/whoami":          api.WhoView{Token: "t", Scopes: []string{string(operators.ScopeSurveysAdmin)}},
		"/v1/surveys/a/stats": api.StatsView{Respondents: 1},
		"/v1/surveys/a":       api.SurveyView{SurveySummary: api.SurveySummary{Survey: "a", State: surveys.Running}},
	}
}

// An end that the forecast sees ahead is; one that has passed, or is just passing, would have been.
func TestSurvey_AForecastOfAnEndThatHasPassedSaysSo(t *testing.T) {
	t.Parallel()
	ahead := map[string]string{
		"en": "By it, the end is %s at best.", "es": "Según él, el fin es %s en el mejor de los casos.",
		"fr": "D’après elle, la fin est %s au mieux.", "pt": "Segundo ela, o fim é %s na melhor das hipóteses.",
	}
	passed := map[string]string{
		"en": "By it, the end would have been %s.", "es": "Según él, el fin habría sido %s.",
		"fr": "D’après elle, la fin aurait été %s.", "pt": "Por ela, o fim teria sido %s.",
	}
	for name, x := range map[string]struct {
		end  time.Duration // from now
		want map[string]string
		when map[string]string
	}{
		"in days":       {49 * time.Hour, ahead, map[string]string{"en": "in 2 d 1 h", "es": "en 2 d 1 h", "fr": "dans 2 j 1 h", "pt": "em 2 d 1 h"}},
		"in minutes":    {8 * time.Minute, ahead, map[string]string{"en": "in 8 min", "es": "en 8 min", "fr": "dans 8 min", "pt": "em 8 min"}},
		"in a moment":   {time.Second, ahead, map[string]string{"en": "now", "es": "ahora", "fr": "maintenant", "pt": "agora"}},
		"now":           {0, passed, map[string]string{"en": "now", "es": "ahora", "fr": "maintenant", "pt": "agora"}},
		"a moment ago":  {-time.Second, passed, map[string]string{"en": "now", "es": "ahora", "fr": "maintenant", "pt": "agora"}},
		"minutes ago":   {-8 * time.Minute, passed, map[string]string{"en": "8 min ago", "es": "hace 8 min", "fr": "il y a 8 min", "pt": "há 8 min"}},
		"many days ago": {-49 * time.Hour, passed, map[string]string{"en": "2 d 1 h ago", "es": "hace 2 d 1 h", "fr": "il y a 2 j 1 h", "pt": "há 2 d 1 h"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				given := surveyAnswers()
				given["/v1/surveys/a/course"] = api.CourseView{
					TimeZone: "UTC", Days: []api.CourseDayView{{Date: "2000-01-01"}}, Forecast: &api.ForecastView{Contacts: 1, EndsAt: time.Now().Add(x.end)},
				}
				for language, when := range x.when {
					page := surveyPage(t, language, given)
					if want := strings.ReplaceAll(x.want[language], "%s", when); !strings.Contains(page, want) {
						t.Errorf("%s: no %q in\n%s", language, want, page)
					}
					for _, other := range []map[string]string{ahead, passed} {
						if begin, _, _ := strings.Cut(other[language], " %s"); other[language] != x.want[language] && strings.Contains(page, begin+" "+when) {
							t.Errorf("%s: %q, too", language, begin)
						}
					}
				}
			})
		})
	}
}

// The page keeps the course of a survey for a moment, but not past its end.
func TestSurvey_CourseIsReadAnewWhenTheStateChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := surveyAnswers()
		course := func(completed int) {
			given["/v1/surveys/a/course"] = api.CourseView{TimeZone: "UTC", Days: []api.CourseDayView{{Date: "2000-01-01", Started: 7000, Completed: completed}}}
		}
		page := surveyPages(t, given)
		course(3111)
		first := page("en")
		course(3222)
		if kept := page("en"); !strings.Contains(first, "3,111") || !strings.Contains(kept, "3,111") {
			t.Errorf("the course is not shown, or not kept:\n%s", kept)
		}
		given["/v1/surveys/a"] = api.SurveyView{SurveySummary: api.SurveySummary{Survey: "a", State: surveys.Done}}
		if done := page("en"); !strings.Contains(done, "3,222") {
			t.Errorf("the course of the end is not shown:\n%s", done)
		}
	})
}
