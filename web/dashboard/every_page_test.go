package dashboard_test

import (
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/web/dashboard"
)

// patterns returns the paths of a method that the dashboard serves, with the names that everything has which r.filled makes.
func patterns(t *testing.T, method string) (paths []string) {
	t.Helper()
	d, err := dashboard.New(dashboard.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	placeholder := regexp.MustCompile(`\{[a-z]+\}`)
	for pattern := range d.Routes() {
		if of, path, _ := strings.Cut(pattern, " "); of == method {
			paths = append(paths, placeholder.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "a"))
		}
	}
	slices.Sort(paths)
	if len(paths) < 20 {
		t.Fatalf("only %d paths: %q", len(paths), paths)
	}
	return paths
}

// filled makes one of everything that is known by a name.
func (r *rig) filled() {
	r.t.Helper()
	r.channel("a")
	r.survey("a", 1)
	r.api("PUT", "/v1/purposes/a", aPurpose, nil)
	r.api("PUT", "/v1/limits/a", `{"title":"One","channels":["a"],"in_flight":50}`, nil)
	r.api("PUT", "/v1/prices/a", `{"currency":"USD","per_segment":"0.01"}`, nil)
}

// Nothing is done because of a form on another site, or without a session.
func TestEveryPage_OtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.filled()
	b := r.login("admin")
	form := url.Values{"name": {"forged"}, "title": {"forged"}, "type": {"nuntium"}, "to": {numberCanary}, "currency": {"USD"}}
	free := []string{"/login", "/logout", "/theme", "/language"} // without a session, too
	for _, path := range patterns(t, "POST") {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "", "Origin", "https://elsewhere.example"}} {
			if p := b.post(path, form, headers...); p.status != 403 || !strings.Contains(p.body, "other sites") {
				t.Errorf("%s, %q: %d", path, headers, p.status)
			}
		}
		if slices.Contains(free, path) {
			continue
		}
		if p := r.visitor().post(path, form); p.status != 303 || !strings.HasPrefix(p.header.Get("Location"), "/login?next=%2Fkept%3Fform%3D") && p.header.Get("Location") != "/login" {
			t.Errorf("%s without a session: %d, to %q", path, p.status, p.header.Get("Location"))
		}
	}
	for _, path := range []string{"/", "/channels/a", "/purposes", "/limits", "/spending", "/surveys", "/webhooks", "/tokens"} {
		b.get(path).want(200).hasNot("forged")
	}
}

// Behind a prefix, everything that a page leads to has it, whichever page it is.
func TestEveryPage_LinksHaveThePrefix(t *testing.T) {
	t.Parallel()
	const prefix = "/ops/weir"
	r := newRigWith(t, []string{"WEIR_PATH_PREFIX=" + prefix}, "router")
	r.filled()
	b := r.visitor()
	b.post(prefix+"/login", url.Values{"token": {adminToken}}).want(303)
	link := regexp.MustCompile(`(?:href|src|action|data-stream)="([^"]*)"`)
	shown := 0
	for _, path := range patterns(t, "GET") {
		if strings.HasPrefix(path, "/live/") { // a stream, which does not end
			continue
		}
		p := b.get(prefix + path)
		if to := p.header.Get("Location"); to != "" && !strings.HasPrefix(to, prefix+"/") {
			t.Errorf("%s leads to %q", path, to)
		}
		if p.status == 200 {
			shown++
		}
		if !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(p.body, -1) {
			if !strings.HasPrefix(found[1], prefix+"/") && !strings.HasPrefix(found[1], "#") && !strings.HasPrefix(found[1], "?") {
				t.Errorf("%s leads to %q", path, found[1])
			}
		}
	}
	if shown < 40 {
		t.Errorf("only %d pages were shown", shown)
	}
}
