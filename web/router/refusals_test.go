package router_test

import (
	"errors"
	"strings"
	"testing"

	"weir/web/router"
)

// Python's SuspendMode() and QueueAndMatchMode() both send {}.
// Scenario 150.
func TestRefusals_MatchingModeMayLackItsKind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/queues/q", `{}`)
	a := r.do("PATCH", "/routing/jobs/j", `{"channelId":"c","queueId":"q","matchingMode":{}}`)
	if a.failed(400, "BadRequest"); !strings.Contains(a.text, "matchingMode/kind") {
		t.Errorf("%s", a.text)
	}
	r.put("/routing/jobs/j", `{"channelId":"c","queueId":"q","matchingMode":{"scheduleAt":"2030-01-01T00:00:00Z"}}`)
	if mode := r.get("/routing/jobs/j")["matchingMode"].(map[string]any)["kind"]; mode != "scheduleAndSuspend" {
		t.Errorf("%v", mode)
	}
	r.do("PATCH", "/routing/jobs/j", `{"matchingMode":{}}`).failed(400, "BadRequest")
}

// A setting that could only ever fail is rejected when it is set.
// Scenario 151.
func TestRefusals_UnworkablePoliciesAreRejected(t *testing.T) {
	t.Parallel()
	r := rigWith(t, router.Options{Address: func(uri string) error {
		if !strings.HasPrefix(uri, "https://") {
			return errors.New("not an https URL")
		}
		return nil
	}})
	for path, c := range map[string]struct{ body, field string }{
		"workers/w":                {`{"queues":["nowhere"]}`, "queues"},
		"distributionPolicies/d":   {`{"mode":{"kind":"bestWorker","scoringRule":{"kind":"function","functionUri":"notauri"}}}`, "mode/scoringRule/functionUri"},
		"distributionPolicies/e":   {`{"mode":{"kind":"bestWorker","scoringRule":{"kind":"webhook","webhookUri":"ftp://x"}}}`, "mode/scoringRule/webhookUri"},
		"distributionPolicies/f":   {`{"mode":{"kind":"bestWorker","scoringRule":{"kind":"webhook","authorizationServerUri":"ftp://x","webhookUri":"https://x"}}}`, "mode/scoringRule/authorizationServerUri"},
		"classificationPolicies/a": {`{"prioritizationRule":{"kind":"function","functionUri":"http://10.0.0.1"}}`, "prioritizationRule/functionUri"},
		"classificationPolicies/b": {`{"queueSelectorAttachments":[{"kind":"conditional","condition":{"kind":"function","functionUri":"x"},"queueSelectors":[]}]}`, "queueSelectorAttachments/0/condition/functionUri"},
		"classificationPolicies/c": {`{"workerSelectorAttachments":[{"kind":"ruleEngine","rule":{"kind":"function","functionUri":"x"}}]}`, "workerSelectorAttachments/0/rule/functionUri"},
	} {
		a := r.do("PATCH", "/routing/"+path, c.body)
		if a.failed(400, "BadRequest"); !strings.Contains(a.text, c.field) {
			t.Errorf("%s does not name %s: %s", path, c.field, a.text)
		}
	}
	r.put("/routing/queues/q", `{}`)
	r.put("/routing/jobs/j", `{"channelId":"c","queueId":"q","labels":{"functionUri":"a label"}}`)
	r.put("/routing/exceptionPolicies/e", `{"exceptionRules":[{"id":"r","trigger":{"kind":"queueLength","threshold":9},"actions":[{"kind":"reclassify","labelsToUpsert":{"functionUri":"a label"}}]}]}`)
	r.put("/routing/distributionPolicies/d", `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"function","functionUri":"https://x.example"}}}`)
}

// A client that did not receive the response to complete or close repeats the
// request and gets the same response.
// Scenario 152.
func TestRefusals_RepeatedStepsGetTheSameResponse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("/routing/distributionPolicies/d", `{"offerExpiresAfterSeconds":60,"mode":{"kind":"longestIdle"}}`)
	r.put("/routing/queues/q", `{"distributionPolicyId":"d"}`)
	r.put("/routing/workers/w", `{"queues":["q"],"capacity":1,"channels":[{"channelId":"c","capacityCostPerJob":1}],"availableForOffers":true}`)
	r.put("/routing/jobs/j", `{"channelId":"c","queueId":"q"}`)
	offer := r.get("/routing/workers/w")["offers"].([]any)[0].(map[string]any)["offerId"].(string)
	assignment := r.ok(200, "POST", "/routing/workers/w/offers/"+offer+":accept", "").body["assignmentId"].(string)
	at := "/routing/jobs/j/assignments/" + assignment
	for _, action := range []string{":complete", ":close"} {
		for range 2 {
			r.ok(200, "POST", at+action, `{"note":"done"}`).is(`{}`)
		}
	}
	r.do("POST", at+":close", `{"dispositionCode":"another"}`).failed(409, "Conflict")
	if notes := r.get("/routing/jobs/j")["notes"].([]any); len(notes) != 2 {
		t.Errorf("%v", notes)
	}
	if !strings.Contains(offer[2:], "-") || !strings.Contains(assignment[2:], "-") {
		t.Errorf("%s and %s would come again in a restored store", offer, assignment)
	}
}
