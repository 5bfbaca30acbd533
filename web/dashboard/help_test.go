package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"weir/docs"
)

// The documents are for everybody who is logged in, whatever the token may do, and for nobody else.
func TestHelp_IsForEverybodyWhoIsLoggedIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router", "contacts:write@north-")
	for _, path := range []string{"/help", "/help/surveys", "/help/none"} {
		r.visitor().get(path).want(303)
	}
	for _, scopes := range []string{"router", "contacts:write@north-", "admin"} {
		b := r.login(scopes)
		index := b.get("/help").want(200)
		for _, name := range docs.Order() {
			index.has(`href="/help/` + name + `"`)
			p := b.get("/help/" + name).want(200).has(`<article lang="en">`).hasNot("The documents are in English.")
			if want := "script-src 'self'; style-src 'self'"; !strings.Contains(p.header.Get("Content-Security-Policy"), want) || strings.Contains(p.body, " style=") {
				t.Errorf("%s: %q", name, p.header.Get("Content-Security-Policy"))
			}
		}
		b.get("/help/none").want(404).has("There is no such document.")
		b.get("/help/..%2Fsurveys").want(404)
	}
}

// Pages in other languages say that the documents are not, and what is English is marked as such.
func TestHelp_SaysThatItIsInEnglish(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.login("admin")
	for language, words := range map[string]string{"es": "Los documentos están en inglés.", "fr": "Les documents sont en anglais.", "pt": "Os documentos estão em inglês."} {
		b.post("/language", url.Values{"language": {language}, "back": {"/help"}}).want(303)
		for _, path := range []string{"/help", "/help/surveys"} {
			b.get(path).want(200).has(words, `<html lang="`+language+`"`, `lang="en"`)
		}
	}
}

// Pages lead to the section that explains them, behind a prefix, too, but a wall view does not.
func TestHelp_PagesLeadToTheirSection(t *testing.T) {
	t.Parallel()
	const prefix = "/ops"
	r := newRigWith(t, []string{"WEIR_PATH_PREFIX=" + prefix}, "router")
	r.filled()
	b := r.visitor()
	b.post(prefix+"/login", url.Values{"token": {adminToken}}).want(303)
	for path, section := range map[string]string{
		"/": "operations#look-and-act", "/channels/a": "operations#why-something-waits", "/limits": "limits#limits-that-channels-share", "/surveys/a/answers": "surveys#following", "/people": "consent#in-the-dashboard", "/tokens": "access#scopes",
	} {
		b.get(prefix + path).want(200).has(`<a class="help" id="help" href="` + prefix + "/help/" + section + `" hreflang="en">How this works</a>`)
	}
	b.get(prefix + "/?wall=1").want(200).hasNot(`id="help"`)
	b.get(prefix + "/help").want(200).hasNot(`id="help"`)
	b.get(prefix + "/help/surveys").want(200).has(`href="` + prefix + `/help/questions"`)
}

// Whoever has nothing yet is led to the first survey.
func TestHelp_AnEmptyInstallationLeadsToTheFirstSurvey(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.login("admin")
	const link = `href="/help/surveys#your-first-survey"`
	b.get("/").want(200).has(link)
	b.get("/surveys").want(200).has(`class="first-survey" ` + link)
	r.filled()
	b.get("/surveys").want(200).hasNot(`class="first-survey"`)
	b.get("/help/surveys").want(200).has(`id="your-first-survey"`)
}
