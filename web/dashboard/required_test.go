package dashboard_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/channels/all"
	"weir/router/routertest"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// besideFields returns the mistakes that a page shows beside its fields, by the field.
func besideFields(page answer) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`<p class="reason" id="([^"]*)-wrong"[^>]*>([^<]*)</p>`).FindAllStringSubmatch(page.body, -1) {
		found[m[1]] = html.UnescapeString(m[2])
	}
	return found
}

// The form of a channel says of each setting that its label calls required, and that is empty, the same thing, of every type
// and in every language: not the sentence of the API, which repeats the help beside it.
func TestChannelForm_EmptyRequiredFieldsHaveOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "router")
	b := r.login("admin")
	needed := 0
	for _, l := range locale.New().List() {
		b.cookies["weir_language"] = l.Code
		for _, typ := range all.Types(routertest.New(time.Now)) {
			form := whole(b.get("/channels/_new?type=" + typ.Name).want(200))
			for name := range form {
				if name != "type" && name != "template" {
					form.Set(name, "")
				}
			}
			form.Set("type", typ.Name)
			page := b.post("/channels/_new", form).want(http.StatusUnprocessableEntity)
			beside := besideFields(page)
			for _, m := range regexp.MustCompile(`<label for="([^"]+)">[^<]*<span class="quiet">`+regexp.QuoteMeta(html.EscapeString(l.T("required")))+`</span>`).FindAllStringSubmatch(page.body, -1) {
				needed++
				if want := display.Sentence(l.T("enter this")); beside[m[1]] != want {
					t.Errorf("%s, type %s: %s has %q, want %q", l.Code, typ.Name, m[1], beside[m[1]], want)
				}
			}
			for field, said := range beside {
				if strings.Contains(said, typ.Name+" ") || l.Code != "en" && strings.Contains(said, "needs it") {
					t.Errorf("%s, type %s: %s has %q", l.Code, typ.Name, field, said)
				}
			}
		}
	}
	if needed < 4*6 {
		t.Errorf("only %d fields are required", needed)
	}
}

// Every other form says of each empty field that it needs what is to be done, in the language of the page.
func TestForms_EmptyRequiredFieldsAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.survey("flu", 1)
	b := r.login("admin")
	for path, want := range map[string]map[string]string{
		"/limits/_new": {
			"name": "1 to 63 characters: a-z, 0-9, underscores and hyphens. It begins with a letter or a digit, and is not all.", "channels": "Choose at least one channel, or name a survey below.", "in_flight": "Enter at least one limit, of these three or of money.",
		},
		"/purposes/_new": {"name": "1 to 63 characters: a-z, 0-9, underscores and hyphens. It begins with a letter or a digit, and is not all."},
		"/surveys/_new": {
			"name": "1 to 63 characters: a-z, 0-9, dots, underscores and hyphens. It begins with a letter or a digit.", "time_zone": "Must be the IANA name of a time zone, like America/Mexico_City.",
			"weekdays": "Must name at least one day of the week.", "windows": "Must have 1 to 24 windows.", "modes": "Choose a channel for at least one mode.",
		},
		"/surveys/_new/json": {"name": "1 to 63 characters: a-z, 0-9, dots, underscores and hyphens. It begins with a letter or a digit."},
		"/surveys/flu/edit": {
			"time_zone": "Must be the IANA name of a time zone, like America/Mexico_City.", "weekdays": "Must name at least one day of the week.", "windows": "Must have 1 to 24 windows.", "sms_channel": "Must be the name of a channel.",
		},
		"/surveys/flu/pilot": {"numbers": "Must have 1 to 20 elements."},
		"/contacts/_new":     {"channel": "Choose a channel.", "to": "Enter a phone number or another address."},
		"/tokens":            {"name": "Enter this.", "scopes": "Must have 1 to 50 elements."},
		"/people":            {"search": "Enter a phone number or another address."},
		"/people/record":     {"to": "Enter a phone number or another address.", "status": "Choose what the person said.", "words": "Write down what was said: it is the proof."},
		"/prices/texts/edit": {"currency": "Enter this.", "per_attempt": "Enter at least one of the three amounts."},
		"/router/desk":       {"worker": "Enter the ID of a worker."},
	} {
		b.cookies["weir_language"] = "en"
		if got := besideFields(b.post(path, url.Values{}).want(http.StatusUnprocessableEntity)); !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
			continue
		}
		for _, l := range locale.New().List()[1:] {
			b.cookies["weir_language"] = l.Code
			got := besideFields(b.post(path, url.Values{}).want(http.StatusUnprocessableEntity))
			for _, field := range slices.Sorted(maps.Keys(want)) {
				if in := inWords(l, want[field]); in == want[field] || got[field] != in {
					t.Errorf("%s in %s: %s has %q, want %q", path, l.Code, field, got[field], in)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s in %s: %q", path, l.Code, got)
			}
		}
	}
}

// inWords returns a sentence of a page or of the API in a language, as pages show it.
func inWords(l *locale.Locale, english string) string {
	if format, ok := strings.CutSuffix(english, "not all."); ok { // the reserved name is an argument
		return l.T(locale.Message(format+"not %s."), "all")
	}
	plain := strings.TrimSuffix(english, ".")
	lower := strings.ToLower(plain[:1]) + plain[1:]
	for _, said := range []string{lower, plain, english} {
		for _, text := range []string{l.T(locale.Message(said)), l.Mistake(said)} {
			if text != said {
				return display.Sentence(text)
			}
		}
	}
	return english
}
