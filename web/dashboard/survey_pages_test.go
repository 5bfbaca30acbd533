package dashboard_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// surveyAndRouterPages lists the pages of a rig with the survey flu and a filled
// router.
func surveyAndRouterPages() []string {
	return []string{
		"/surveys", "/surveys/flu", "/surveys/flu/respondents", "/surveys/flu/log", "/surveys/flu/launch", "/surveys/flu/stop",
		"/surveys/_new", "/surveys/_new/json", "/surveys/flu/edit", "/surveys/flu/edit/json", "/surveys/flu/definition", "/surveys/flu/import", "/surveys/flu/clone", "/surveys/flu/pilot",
		"/router", "/router?wall=1", "/router/workers", "/router/queues", "/router/jobs", "/router/policies",
		"/router/workers/ann", "/router/workers/ann/off", "/router/jobs/one", "/router/jobs/one/cancel", "/router/queues/calls",
	}
}

// Pages contain no inline script or style, which the policy would block, and no
// duplicate ids, which would refer to the wrong element.
func TestPages_OfSurveysAndTheRouterAreValid(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.survey("flu", 2)
	r.routed()
	b := r.login("admin")
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:>|[^>]*[^r]>)`)
	id := regexp.MustCompile(`\sid="([^"]*)"`)
	for _, path := range surveyAndRouterPages() {
		body := b.get(path).want(200).body
		if found := inline.FindString(body); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		seen := map[string]bool{}
		for _, m := range id.FindAllStringSubmatch(body, -1) {
			if seen[m[1]] || strings.Contains(m[1], " ") {
				t.Errorf("%s: id %q", path, m[1])
			}
			seen[m[1]] = true
		}
		if strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "%!") {
			t.Errorf("%s: a value could not be written", path)
		}
	}
}

func TestPages_OfSurveysAndTheRouterWorkUnderAPrefix(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, []string{"WEIR_PATH_PREFIX=/ops"}, "router")
	r.survey("flu", 60)
	r.routed()
	b := r.visitor()
	b.post("/ops/login", url.Values{"token": {adminToken}}).want(303)
	link := regexp.MustCompile(`(?:href|src|action|data-stream)="([^"]*)"`)
	for _, path := range surveyAndRouterPages() {
		for _, found := range link.FindAllStringSubmatch(b.get("/ops"+path).want(200).body, -1) {
			if !strings.HasPrefix(found[1], "/ops/") && !strings.HasPrefix(found[1], "#") {
				t.Errorf("%s leads to %q", path, found[1])
			}
		}
	}
	if to := b.post("/ops/router/jobs/one/cancel", nil).want(303).header.Get("Location"); to != "/ops/router/jobs/one" {
		t.Errorf("an action leads to %q", to)
	}
}
