package dashboard_test

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// refusedPost is a request of a page that is refused for many reasons.
type refusedPost struct {
	path string
	form url.Values
	few  int // at least so many mistakes are shown
}

var (
	mistakeElements = regexp.MustCompile(`(?s)<(?:p class="reason"|p class="flash bad"|p class="quiet warning"|li|td colspan="\d+" class="reason"|td class="long")[^>]*>(.*?)</(?:p|li|td)>`)
	markup          = regexp.MustCompile(`<code>[^<]*</code>|<[^>]*>|&#3[49];[^&]*&#3[49];|\{\{[^}]*\}\}`)
	englishWords    = regexp.MustCompile(`(?i)\b(the|must|be|has|have|which|and|with|of|is|not|are|cannot|there|for|only|than|expected|takes|missing|write)\b`)
)

// mistakesShown returns what a page says of mistakes, without names and places.
func mistakesShown(a answer) (list []string) {
	body := a.body[strings.Index(a.body, "<main"):]
	for _, m := range mistakeElements.FindAllStringSubmatch(body, -1) {
		if text := strings.TrimSpace(markup.ReplaceAllString(m[1], "")); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// refuseIn posts what is refused in each language, and requires as many mistakes as in English and no English word in them.
func refuseIn(b *browser, posts ...refusedPost) {
	b.t.Helper()
	for _, p := range posts {
		b.cookies["weir_language"] = "en"
		english := mistakesShown(b.post(p.path, p.form))
		if len(english) < p.few {
			b.t.Errorf("%s: %d mistakes, want at least %d: %q", p.path, len(english), p.few, english)
		}
		for _, code := range []string{"es", "fr", "pt"} {
			b.cookies["weir_language"] = code
			shown := mistakesShown(b.post(p.path, p.form))
			if len(shown) != len(english) {
				b.t.Errorf("%s in %s: %d mistakes, in English %d: %q", p.path, code, len(shown), len(english), shown)
			}
			for _, text := range shown {
				if word := englishWords.FindString(text); word != "" {
					b.t.Errorf("%s in %s: %q of %q", p.path, code, word, text)
				}
			}
		}
	}
}

// A definition is refused in the language of the page.
func TestMistakes_OfDefinitionsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	r.survey("empty", 0)
	b := r.login("admin")
	form := filledSurvey()
	for name, value := range map[string]string{
		"name": "Flu!", "window_1_to": "08:00", "window_2_from": "noon", "blocked_days": "tomorrow", "end_date": "1999-12-31", "sms_retries": "soon", "sms_channel": "none", "sms_text_1": "Hello {{First",
		"fallback_delay": "ever", "cutoff": "x", "quota_1_quota": "-4", "limit_per_minute": "-1", "region": "XX", "app_url": "gopher:", "time_zone": "Mars/Base",
	} {
		form.Set(name, value)
	}
	definition := func(text string) url.Values { return url.Values{"name": {"flu"}, "definition": {text}} }
	refuseIn(b,
		refusedPost{"/surveys/_new", form, 10},
		refusedPost{"/surveys/_new/json", definition(`{"schedule":{"time_zone":7,"weekdays":"mon","windows":[{"from":1}],"x":1},"modes":{"sms":{"retries":[1]}},"arms":{},"cutoff":1.5,"region":"","questionnaires":{"default":{"sms":["x"]}},
			"labels":[1],"stop_words":{},"purpose":true,"budget":{"money":1}}`), 8},
		refusedPost{"/surveys/_new/json", definition(`{"schedule":{"time_zone":"Mars/Base","weekdays":["mon","mon","day"],"windows":[{"from":"09:00","to":"08:00"},{"from":"24:00","to":"24:00"},{"from":"07:00","to":"10:00"},{"from":"07:30","to":"11:00"}],
			"blocked_days":["2026-02-31"],"start_date":"2099-05-01","end_date":"2099-04-01"},
			"modes":{"sms":{"channel":"none","retries":"soon"},"fax":{"channel":"texts"},"ivr":{"channel":"texts","retries":"1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 11m 12m"},"cati":{"channel":""}},
			"arms":[{"modes":["sms","sms","post"],"ratio":50},{"modes":[],"ratio":30},{"modes":["sms"],"questionnaire":"other"}],"fallback_delay":"0h","cutoff":-1,"region":"XX","initial_success_rate":2,"purpose":"nothing",
			"questionnaires":{"default":{"sms":[{"messages":[]},{"messages":["{{no name}} and {{phone}} {x}"]}],"ivr":[{"call":{"callback_url":"nowhere"}},{"call":{"twiml":"<a>"}},{"messages":["a"]}],"cati":[{}]}},
			"quotas":[{"where":{},"quota":-1},{"where":{"Age":{"in":["a"],"from":1}},"quota":1},{"where":{"age":{"from":9,"to":1}},"quota":1}],
			"stop_words":["","!"],"labels":["Bad name","survey"],"answer":{"attribute":"phone"},"application":{"url":"http://user:pw@x"},"budget":{"money":"0","currency":"dollars"}}`), 25},
		refusedPost{"/surveys/empty/launch", url.Values{}, 1},
	)
}

// Purposes, limits and prices are refused in the language of the page.
func TestMistakes_OfRulesAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	const scopes = "people:admin channels:admin"
	r := newRig(t, scopes)
	r.addLimitChannels()
	b := r.login(scopes)
	refuseIn(b,
		refusedPost{"/purposes/_new", purposeForm("title", strings.Repeat("ä", 201), "consent", "maybe", "exempt_from", "consent", "quiet_hours_from", "25:00", "time_zone", "Mars/Olympus", "repeat_guard", "soon",
			"holidays", "2026-02-30 none", "cap_1_max", "many", "cap_1_within", "7d", "cap_3_max", "2000", "cap_3_within", "8h", "cap_3_kind", "calendar", "cap_8_within", "week", "cap_8_over", "some", "name", "Research!"), 10},
		refusedPost{"/purposes/_new", purposeForm("name", "all", "consent", "recorded", "exempt_from", "consent", "quiet_hours_from", "08:00", "quiet_hours_to", "08:00"), 3},
		refusedPost{"/limits/_new", limitForm("name", "Portfolio!", "title", strings.Repeat("ä", 201), "channels", "gone", "in_flight", "0", "per_second", "1.5", "new_people_per_day", "many", "money", "1,5", "money_per_day", "0", "currency", "dollars"), 5},
		refusedPost{"/limits/_new", limitForm("name", "a", "channels", "texts", "money", "5", "money_per_day", "9", "currency", "USD", "surveys", "flu", "in_flight", "1"), 2},
		refusedPost{"/prices/texts/edit", priceForm("currency", "dollars", "per_attempt", "x", "per_segment", "1,2"), 3},
	)
}

// What is wrong or strange about questions is said in the language of the page, when it is checked and when it is saved.
func TestMistakes_OfQuestionsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.channel("texts")
	b := r.login("admin")
	b.post("/surveys/_new", filledSurvey()).want(303)
	const path = "/surveys/flu/questions"
	page := b.get(path).want(200)
	page = b.post(path, written(page, "after:0")).want(200)
	for i, kind := range []string{"number", "text", "date", "choices", "choice", "number"} {
		page = b.post(path, written(page, "after:"+strconv.Itoa(i+1), "q"+strconv.Itoa(i+1)+".kind", kind, "q"+strconv.Itoa(i+1)+".text.en", "What?", "q"+strconv.Itoa(i+1)+".name", "a"+strconv.Itoa(i+1))).want(200)
	}
	set := []string{
		"q1.min", "9", "q1.max", "1", "q1.constraint", ". > 'x", "q1.default", "many", "q2.pattern", "(a", "q2.min_length", "9", "q2.max_length", "2", "q2.relevant", "substring(${a1})", "q2.constraint", ". = ${a9}",
		"q3.earliest", "soon", "q3.latest", "2026-02-31", "q3.relevant", "${a1} > 'x' and", "q3.constraint", ". = 'never'", "q4.c0.text.en", "Stop", "q4.c0.words.en", "stop", "q4.relevant", "${a6} = 1", "q4.name", "A1",
		"q5.c0.text.en", "1", "q5.c1.text.en", "2", "q5.c1.name", "two words", "q5.c0.key", "xyz", "q5.relevant", "if(1)", "q6.relevant", "1 = 1", "q6.text.en", "{{nobody} {{a9}} {{phone}} ${a1}", "languages", "xx Nothing\nen English\nen English",
		"tries", "99",
	}
	for _, button := range []string{"check", "save"} {
		refuseIn(b, refusedPost{path, written(page, button, set...), 10})
	}
	for _, expression := range []string{"round(1, 2, 3, 4)", "count(1) or uuid()", "${a6} = 1 +", "“x”", "format-date(${a1}, '%Q')"} { // the first mistake of one ends its reading
		refuseIn(b, refusedPost{path, written(page, "check", "q2.relevant", expression), 1})
	}
}
