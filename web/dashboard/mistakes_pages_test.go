package dashboard_test

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// refusedPost is a request of a page that is refused for many reasons: a form, or a file with fields.
type refusedPost struct {
	path   string
	form   url.Values
	few    int // at least so many mistakes are shown
	file   string
	fields []string
}

func (p *refusedPost) send(b *browser) answer {
	if p.file != "" {
		return b.uploadText(p.path, p.file, p.fields...)
	}
	return b.post(p.path, p.form)
}

var (
	mistakeElements = regexp.MustCompile(`(?s)<(?:p class="reason"|(?:p|div) class="flash bad"|p class="quiet warning"|li|td colspan="\d+" class="reason"|td class="long")[^>]*>(.*?)</(?:p|li|td)>`)
	markup          = regexp.MustCompile(`<code>[^<]*</code>|<[^>]*>|&#3[49];[^&]*&#3[49];|\{\{[^}]*\}\}`)
	englishWords    = regexp.MustCompile(`(?i)\b(the|must|be|has|have|which|and|with|of|is|not|are|cannot|there|for|only|than|expected|takes|missing|write)\b`)
)

// mistakesShown returns what a page says of mistakes, without names and places.
func mistakesShown(a answer) (list []string) {
	a.t.Helper()
	_, body, ok := strings.Cut(a.body, "<main")
	if !ok {
		a.t.Fatalf("status %d: %s", a.status, a.body)
	}
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
		english := mistakesShown(p.send(b))
		if len(english) < p.few {
			b.t.Errorf("%s: %d mistakes, want at least %d: %q", p.path, len(english), p.few, english)
		}
		for _, code := range []string{"es", "fr", "pt"} {
			b.cookies["weir_language"] = code
			shown := mistakesShown(p.send(b))
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
		refusedPost{path: "/surveys/_new", form: form, few: 10},
		refusedPost{path: "/surveys/_new/json", form: definition(`{"schedule":{"time_zone":7,"weekdays":"mon","windows":[{"from":1}],"x":1},"modes":{"sms":{"retries":[1]}},"arms":{},"cutoff":1.5,"region":"","questionnaires":{"default":{"sms":["x"]}},
			"labels":[1],"stop_words":{},"purpose":true,"budget":{"money":1}}`), few: 8},
		refusedPost{path: "/surveys/_new/json", form: definition(`{"schedule":{"time_zone":"Mars/Base","weekdays":["mon","mon","day"],"windows":[{"from":"09:00","to":"08:00"},{"from":"24:00","to":"24:00"},{"from":"07:00","to":"10:00"},{"from":"07:30","to":"11:00"}],
			"blocked_days":["2026-02-31"],"start_date":"2099-05-01","end_date":"2099-04-01"},
			"modes":{"sms":{"channel":"none","retries":"soon"},"fax":{"channel":"texts"},"ivr":{"channel":"texts","retries":"1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 11m 12m"},"cati":{"channel":""}},
			"arms":[{"modes":["sms","sms","post"],"ratio":50},{"modes":[],"ratio":30},{"modes":["sms"],"questionnaire":"other"}],"fallback_delay":"0h","cutoff":-1,"region":"XX","initial_success_rate":2,"purpose":"nothing",
			"questionnaires":{"default":{"sms":[{"messages":[]},{"messages":["{{no name}} and {{phone}} {x}"]}],"ivr":[{"call":{"callback_url":"nowhere"}},{"call":{"twiml":"<a>"}},{"messages":["a"]}],"cati":[{}]}},
			"quotas":[{"where":{},"quota":-1},{"where":{"Age":{"in":["a"],"from":1}},"quota":1},{"where":{"age":{"from":9,"to":1}},"quota":1}],
			"stop_words":["","!"],"labels":["Bad name","survey"],"answer":{"attribute":"phone"},"application":{"url":"http://user:pw@x"},"budget":{"money":"0","currency":"dollars"}}`), few: 25},
		refusedPost{path: "/surveys/empty/launch", form: url.Values{}, few: 1},
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
		refusedPost{path: "/purposes/_new", form: purposeForm("title", strings.Repeat("ä", 201), "consent", "maybe", "exempt_from", "consent", "quiet_hours_from", "25:00", "time_zone", "Mars/Olympus", "repeat_guard", "soon",
			"holidays", "2026-02-30 none", "cap_1_max", "many", "cap_1_within", "7d", "cap_3_max", "2000", "cap_3_within", "8h", "cap_3_kind", "calendar", "cap_8_within", "week", "cap_8_over", "some", "name", "Research!"), few: 10},
		refusedPost{path: "/purposes/_new", form: purposeForm("name", "all", "consent", "recorded", "exempt_from", "consent", "quiet_hours_from", "08:00", "quiet_hours_to", "08:00"), few: 3},
		refusedPost{path: "/limits/_new", form: limitForm("name", "Portfolio!", "title", strings.Repeat("ä", 201), "channels", "gone", "in_flight", "0", "per_second", "1.5", "new_people_per_day", "many", "money", "1,5", "money_per_day", "0", "currency", "dollars"), few: 5},
		refusedPost{path: "/limits/_new", form: limitForm("name", "a", "channels", "texts", "money", "5", "money_per_day", "9", "currency", "USD", "surveys", "flu", "in_flight", "1"), few: 2},
		refusedPost{path: "/prices/texts/edit", form: priceForm("currency", "dollars", "per_attempt", "x", "per_segment", "1,2"), few: 3},
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
		refuseIn(b, refusedPost{path: path, form: written(page, button, set...), few: 10})
	}
	for _, expression := range []string{"round(1, 2, 3, 4)", "count(1) or uuid()", "${a6} = 1 +", "“x”", "format-date(${a1}, '%Q')"} { // the first mistake of one ends its reading
		refuseIn(b, refusedPost{path: path, form: written(page, "check", "q2.relevant", expression), few: 1})
	}
}

// The rows and the columns of a file are refused in the language of the page, in the preview and in the result.
func TestMistakes_OfFilesAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	const scopes = surveyScope + " contacts:read contacts:write pii:read"
	r := newRig(t, scopes)
	r.channel("texts")
	r.survey("flu", 0)
	b := r.login(scopes)
	numbers := "phone,first_name\n,Ana\n5.2E+11,Ana\n12.5,Ana\n+12125550100/1,Ana\nabc,Ana\n+9991234567,Ana\n+1212,Ana\n012345,Ana\n+12125550100,Ana,x\n\"+12125550100\"x,Ana\n+12125550101,a\"b\n+12125550102," +
		strings.Repeat("é", 501) + "\n+12125550103,\xff\n+12125550104,\n+12125550105,Ana\n+12125550105,Ana\n"
	contacts := "phone,key,text,priority,not_before,not_after,time_zone,purpose,label.a\n,a,x,,,,,,\nx y,b,x,,,,,,\n+12125550100,c,,,,,,,\n+12125550100,c,,,,,,,x\n+12125550101,d,x,soon,,,,,\n+12125550102,e,x,,noon,1999-01-01T00:00:00Z,Mars,none,\n" +
		"+12125550103,f,x,,2099-01-01T00:00:00Z,2098-01-01T00:00:00Z,,,\n+12125550104,rq-1,x,reply,,,,," + strings.Repeat("y", 600) + "\n+12125550105,g,x\n+12125550106,h," + strings.Repeat("x", 5000) + ",,,,,,\n"
	refuseIn(b,
		refusedPost{path: "/surveys/flu/import", few: 5, file: numbers},
		refusedPost{path: "/surveys/flu/import", few: 1, file: "phone,Sex!,phone\n1,2,3\n"},
		refusedPost{path: "/surveys/flu/import", few: 5, file: "PK\x03\x04abc"},
		refusedPost{path: "/surveys/flu/import/send", few: 5, file: numbers, fields: mapped("phone", "first_name")},
		refusedPost{path: "/surveys/flu/import/send", few: 2, file: numbers, fields: mapped("first_name", "Sex!")},
		refusedPost{path: "/contacts/_import", few: 5, file: contacts, fields: []string{"channel", "texts"}},
	)
}

// Settings of channels, their templates and contacts are refused in the language of the page.
func TestMistakes_OfChannelsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	const scopes = "channels:admin contacts:read contacts:write"
	r := newRig(t, scopes)
	r.channel("texts")
	b := r.login(scopes)
	channel := func(typ string, fields ...string) refusedPost {
		return refusedPost{path: "/channels/_new", few: 3, form: with(url.Values{"type": {typ}, "name": {"Not good"}, "do": {"save"}}, fields...)}
	}
	refuseIn(b,
		channel("nuntium", "title", strings.Repeat("ä", 201), "capacity", "many", "set-rate_per_second", "1.5", "set-base_url", "nowhere", "set-account", "a/b", "set-burst", "x", "set-token", "a b", "set-password", "p", "set-region", "XX", "set-from", "me"),
		channel("verboice", "capacity", "5", "set-base_url", "http://x/y?z", "set-token", "t", "set-username", "u", "set-channel", "a", "set-channel_id", "0", "set-reply_reserve", "9", "set-burst", "3"),
		channel("twilio", "capacity", "5", "set-account_sid", "x", "set-api_key", "y", "set-auth_token", "a b", "set-unsigned_callbacks", "true"),
		channel("twilio_voice", "capacity", "5", "set-account_sid", "x", "set-api_key", "y", "set-ring_seconds", "900"),
		channel("kannel", "capacity", "5", "set-username", " ", "set-status_password", "p", "set-sendsms_url", "x"),
		channel("workers", "capacity", "5", "set-selectors", "?", "set-require", "==", "set-outcomes", "x", "set-dispositions", "y", "set-other_outcome", "z", "set-priority", "1e9"),
		channel("http", "capacity", "5", "set-template", `{"send":{"url":"ftp://x","json":1,"form":{},"method":"GET","headers":{"Host":"x"}},"answer":[{"status":"9","fate":"x"}],"states":{"a":"b"},"callback":{"message":"x","verify":{"scheme":"token"}},"x y":1}`),
		refusedPost{path: "/contacts/_new", few: 2, form: url.Values{"channel": {"texts"}, "to": {"abc"}, "messages": {strings.Repeat("x", 5000)}, "time_zone": {"Mars"}, "not_before": {"2099-01-01 00:00"}, "not_after": {"2098-01-01 00:00"}, "labels": {"a=" + strings.Repeat("y", 600)}, "purpose": {"none"}}},
	)
}
