package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/web/router"
)

const origin = "http://router.example:8080"

// walk follows the links of a list and returns the ids by page.
func (r *rig) walk(target string) (pages [][]string) {
	r.t.Helper()
	for {
		a := r.ok(200, "GET", target, "")
		var ids []string
		for _, v := range a.body["value"].([]any) {
			ids = append(ids, v.(map[string]any)["id"].(string))
		}
		pages = append(pages, ids)
		next, ok := a.body["nextLink"]
		if !ok {
			return pages
		}
		target, ok = next.(string)
		if !ok || !strings.HasPrefix(target, origin+"/routing/") || strings.Contains(target, "+") || !strings.HasSuffix(target, "&api-version="+r.version) {
			r.t.Fatalf("nextLink %v", next)
		}
		target = strings.TrimPrefix(target, origin)
	}
}

func TestList_IsReadInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/queues/q", `{}`)
	for i := range 5 {
		r.put(fmt.Sprintf("/routing/distributionPolicies/d%d", i), `{}`)
		r.put(fmt.Sprintf("/routing/jobs/j%d", 9-i), `{"channelId":"a b&c","queueId":"q"}`)
		r.put(fmt.Sprintf("/routing/workers/w%d", i), `{"queues":["q"]}`)
	}
	for target, want := range map[string][][]string{
		"/routing/distributionPolicies?maxpagesize=2":                  {{"d0", "d1"}, {"d2", "d3"}, {"d4"}},
		"/routing/distributionPolicies?maxpagesize=5":                  {{"d0", "d1", "d2", "d3", "d4"}},
		"/routing/distributionPolicies?maxpagesize=4000000000":         {{"d0", "d1", "d2", "d3", "d4"}},
		"/routing/distributionPolicies":                                {{"d0", "d1", "d2", "d3", "d4"}},
		"/routing/jobs?maxpagesize=3":                                  {{"j9", "j8", "j7"}, {"j6", "j5"}},
		"/routing/jobs?maxpagesize=5&status=queued":                    {{"j9", "j8", "j7", "j6", "j5"}},
		"/routing/jobs?channelId=a%20b%26c&maxpagesize=4":              {{"j9", "j8", "j7", "j6"}, {"j5"}},
		"/routing/jobs?channelId=other":                                {nil},
		"/routing/workers?maxpagesize=4&queueId=q":                     {{"w0", "w1", "w2", "w3"}, {"w4"}},
		"/routing/workers?state=active":                                {nil},
		"/routing/classificationPolicies?maxpagesize=1":                {nil},
		"/routing/exceptionPolicies?maxpagesize=1":                     {nil},
		"/routing/queues?maxpagesize=1&page=2&$orderby=what-ever-else": {{"q"}},
	} {
		if diff := cmp.Diff(want, r.walk(target)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}
}

// Pages of large resources end early, so that no list uses up the memory; their links
// lead through all of them.
func TestPages_EndBySize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tag := strings.Repeat("x", 16<<10)
	large := fmt.Sprintf(`"tags":{"1":%q,"2":%[1]q,"3":%[1]q,"4":%[1]q,"5":%[1]q,"6":%[1]q,"7":%[1]q}}`, tag)
	r.put("/routing/queues/q", `{}`)
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("x%02d", i))
		r.put("/routing/jobs/"+want[i], `{"channelId":"chat","queueId":"q",`+large)
		r.put("/routing/workers/"+want[i], `{"queues":["q"],`+large)
	}
	for _, list := range []string{"jobs", "workers"} {
		pages := r.walk("/routing/" + list + "?maxpagesize=1000")
		if diff := cmp.Diff(want, slices.Concat(pages...)); diff != "" || len(pages) < 2 {
			t.Errorf("%d pages of %s (-want +got):\n%s", len(pages), list, diff)
		}
	}
}

func TestList_JobsAreFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.put("/routing/queues/other", `{}`)
	r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"other"}`)
	r.put("/routing/jobs/assigned", `{"channelId":"chat","queueId":"q"}`)
	r.accept("w")
	r.put("/routing/jobs/queued", `{"channelId":"chat","queueId":"q"}`)
	r.put("/routing/jobs/classified", `{"channelId":"voice","classificationPolicyId":"c"}`)
	r.put("/routing/jobs/soon", `{"channelId":"chat","queueId":"q","matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-02T10:00:00Z"}}`)
	r.put("/routing/jobs/later", `{"channelId":"chat","queueId":"q","matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-03T10:00:00Z"}}`)
	r.put("/routing/jobs/over", `{"channelId":"chat","queueId":"q"}`)
	r.ok(200, "POST", "/routing/jobs/over:cancel", "")
	for filter, want := range map[string][]string{
		"":                             {"assigned", "queued", "classified", "soon", "later", "over"},
		"status=all":                   {"assigned", "queued", "classified", "soon", "later", "over"},
		"status=active":                {"assigned", "queued", "classified", "soon", "later"},
		"status=cancelled":             {"over"},
		"status=assigned":              {"assigned"},
		"status=scheduled":             {"soon", "later"},
		"status=pendingClassification": nil,
		"queueId=other":                {"classified"},
		"channelId=voice":              {"classified"},
		"classificationPolicyId=c":     {"classified"},
		"scheduledBefore=2026-03-02T10:00:00.000Z":                                     {"soon"},
		"scheduledAfter=2026-03-02T10:00:00.000Z":                                      {"soon", "later"},
		"scheduledAfter=2026-03-02T10:00:00.001Z":                                      {"later"},
		"scheduledBefore=2026-03-04T00:00:00.000Z&scheduledAfter=2026-03-01T00:00:00Z": {"soon", "later"},
		"status=queued&queueId=q&channelId=chat":                                       {"queued"},
	} {
		if diff := cmp.Diff([][]string{want}, r.walk("/routing/jobs?"+filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filter, diff)
		}
	}
}

func TestList_WorkersAreFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	both := `{"queues":["q"],"capacity":2,"channels":[{"channelId":"chat","capacityCostPerJob":1},{"channelId":"voice","capacityCostPerJob":2}],"availableForOffers":true}`
	r.put("/routing/workers/busy", `{"queues":["q"],"capacity":1,"channels":[{"channelId":"mail","capacityCostPerJob":1}],"availableForOffers":true}`)
	r.put("/routing/jobs/m", `{"channelId":"mail","queueId":"q"}`)
	r.accept("busy")
	r.put("/routing/workers/half", both)
	r.put("/routing/workers/w", `{"availableForOffers":false}`)
	r.put("/routing/jobs/c", `{"channelId":"chat","queueId":"q"}`)
	r.accept("half")
	r.put("/routing/workers/free", both)
	r.put("/routing/queues/else", `{}`)
	r.put("/routing/workers/leaving", `{"queues":["else"],"capacity":1,"channels":[{"channelId":"fax","capacityCostPerJob":1}],"availableForOffers":true}`)
	r.engine.wait(time.Second)
	r.put("/routing/jobs/f", `{"channelId":"fax","queueId":"q"}`)
	r.put("/routing/workers/leaving", `{"queues":["q"]}`)
	r.accept("leaving")
	r.put("/routing/workers/leaving", `{"availableForOffers":false}`)
	for filter, want := range map[string][]string{
		"":                                 {"busy", "free", "half", "leaving", "w"},
		"state=all":                        {"busy", "free", "half", "leaving", "w"},
		"state=active":                     {"busy", "free", "half"},
		"state=draining":                   {"leaving"},
		"state=inactive":                   {"w"},
		"channelId=voice":                  {"free", "half"},
		"queueId=else":                     nil,
		"hasCapacity=true":                 {"free", "half"},
		"hasCapacity=false":                {"busy", "free", "half", "leaving", "w"},
		"hasCapacity=true&channelId=voice": {"free"},
		"hasCapacity=true&channelId=mail":  nil,
		"state=active&channelId=chat&hasCapacity=true&queueId=q": {"free", "half"},
	} {
		if diff := cmp.Diff([][]string{want}, r.walk("/routing/workers?"+filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filter, diff)
		}
	}
}

func TestList_BadParametersAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for query, want := range map[string][]string{
		"jobs?maxpagesize=0":                                   {"Range maxpagesize"},
		"jobs?maxpagesize=-1":                                  {"Range maxpagesize"},
		"jobs?maxpagesize=2.5":                                 {"Range maxpagesize"},
		"jobs?maxpagesize=1&maxpagesize=2":                     {"Duplicate maxpagesize"},
		"jobs?status=open&scheduledBefore=yesterday":           {"Unknown status", "Format scheduledBefore"},
		"jobs?scheduledAfter=2026-13-01T00:00:00Z":             {"Format scheduledAfter"},
		"jobs?skipToken=$$":                                    {"Format skipToken"},
		"jobs?skipToken=JCQ":                                   {"Format skipToken"},
		"workers?state=idle&hasCapacity=1":                     {"Unknown state", "Unknown hasCapacity"},
		"queues?maxpagesize=many":                              {"Range maxpagesize"},
		"queues?a=%zz":                                         {"Format query"},
		"queues?api-version=2022-07-18-preview":                {"Unknown api-version"},
		"queues?api-version=":                                  {"Unknown api-version"},
		"queues?api-version=2023-11-01&api-version=2023-11-01": {"Unknown api-version"},
	} {
		a := r.do("GET", "/routing/"+query, "").failed(400, "BadRequest")
		if diff := cmp.Diff(want, a.details()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	req := r.request("GET", "/routing/queues?api-version=x", "")
	req.RequestURI, req.URL.RawQuery = "/routing/queues", ""
	if diff := cmp.Diff([]string{"Required api-version"}, r.send(r.sign(req, "")).failed(400, "BadRequest").details()); diff != "" {
		t.Errorf("without api-version (-want +got):\n%s", diff)
	}
}

// The link to the next page is absolute and has the scheme that the client used.
func TestList_LinksHaveTheSchemeOfTheClient(t *testing.T) {
	t.Parallel()
	r := rigWith(t, router.Options{PublicURL: "https://weir.example"})
	for i := range 2 {
		r.put(fmt.Sprintf("/routing/queues/q%d", i), `{}`)
	}
	for _, c := range []struct{ host, forwarded, want string }{
		{"127.0.0.1:8080", "", "http://127.0.0.1:8080"}, {"weir.example", "", "https://weir.example"}, {"WEIR.example:443", "", "https://WEIR.example:443"},
		{"weir.example", "http", "http://weir.example"}, {"other.example", "https", "https://other.example"}, {"other.example", "javascript", "http://other.example"},
	} {
		req := r.request("GET", "/routing/queues?maxpagesize=1", "")
		req.Host = c.host
		req.Header.Set("X-Forwarded-Proto", c.forwarded)
		a := r.send(r.sign(req, ""))
		if link, _ := a.body["nextLink"].(string); !strings.HasPrefix(link, c.want+"/routing/queues?") {
			t.Errorf("%+v: %d %v", c, a.status, a.body["nextLink"])
		}
	}
}
