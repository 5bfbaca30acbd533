package router_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/router/label"
	"weir/router/resource"
)

const secretPolicy = `{"prioritizationRule":{"kind":"function","functionUri":"https://f.example/p","credential":{"functionKey":"hush-1","clientId":"me"}},
	"queueSelectorAttachments":[{"kind":"ruleEngine","rule":{"kind":"webhook","authorizationServerUri":"https://a.example","webhookUri":"https://f.example/w","clientCredential":{"clientId":"me","clientSecret":"hush-2"}}}],
	"workerSelectorAttachments":[
		{"kind":"conditional","condition":{"kind":"function","functionUri":"https://f.example/c","credential":{"appKey":"hush-3","clientId":"me"}},"workerSelectors":[]},
		{"kind":"ruleEngine","rule":{"kind":"function","functionUri":"https://f.example/c","credential":{"appKey":"hush-4"}}}]}`

func TestCredentials_AreNeverReturned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.ok(201, "PATCH", "/routing/classificationPolicies/c", secretPolicy)
	best := r.ok(201, "PATCH", "/routing/distributionPolicies/d", `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"function","functionUri":"https://f.example/s","credential":{"functionKey":"hush-5"}}}}`)
	for _, a := range []answered{made, best, r.ok(200, "GET", "/routing/classificationPolicies", ""), r.ok(200, "GET", "/routing/distributionPolicies/d", "")} {
		if strings.Contains(a.text, "hush") || !strings.Contains(a.text, "REDACTED") {
			t.Errorf("shown: %s", a.text)
		}
	}
	known := func() string {
		c, _ := r.engine.state.Classification("c")
		d, _ := r.engine.state.Distribution("d")
		s := c.Spec
		return strings.Join([]string{
			s.PrioritizationRule.Credential.FunctionKey, s.QueueSelectorAttachments[0].Rule.ClientCredential.ClientSecret,
			s.WorkerSelectorAttachments[0].Condition.Credential.AppKey, s.WorkerSelectorAttachments[1].Rule.Credential.AppKey,
			d.Spec.Mode.ScoringRule.Credential.FunctionKey,
		}, " ")
	}
	const all = "hush-1 hush-2 hush-3 hush-4 hush-5"
	for _, sent := range []answered{
		r.ok(200, "PATCH", "/routing/classificationPolicies/c", made.text), r.ok(200, "PATCH", "/routing/distributionPolicies/d", best.text),
		r.ok(200, "PATCH", "/routing/classificationPolicies/c", `{"prioritizationRule":{"credential":{"functionKey":"REDACTED"}}}`),
	} {
		if got := known(); got != all || sent.text != made.text && sent.text != best.text {
			t.Errorf("sent back, the credentials are %s; %s", got, sent.text)
		}
	}
	for _, other := range []string{"https://evil.example/c", "https://f.example/p/"} {
		body := strings.ReplaceAll(made.text, "https://f.example/p", other)
		a := r.do("PATCH", "/routing/classificationPolicies/c", body).failed(400, "BadRequest")
		if diff := cmp.Diff([]string{"Required /prioritizationRule/credential/functionKey"}, a.details()); diff != "" || known() != all {
			t.Errorf("a credential for another address: %s; known are %s", diff, known())
		}
	}
	r.put("/routing/classificationPolicies/c", `{"prioritizationRule":{"kind":"static","value":1}}`)
	c, _ := r.engine.state.Classification("c")
	if diff := cmp.Diff(&resource.Rule{Kind: resource.RuleStatic, Value: label.Number(1)}, c.Spec.PrioritizationRule, cmp.Comparer(func(a, b label.Value) bool { return a == b })); diff != "" {
		t.Errorf("what belonged to the other kind (-want +got):\n%s", diff)
	}
}

// A credential is never sent to an address other than the one it was set for.
func TestCredentials_StayWithTheirAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.ok(201, "PATCH", "/routing/classificationPolicies/c", secretPolicy)
	const hook = `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"webhook","authorizationServerUri":"https://a.example","webhookUri":"https://f.example/w","clientCredential":{"clientId":"me","clientSecret":"hush"}}}}`
	d := r.ok(201, "PATCH", "/routing/distributionPolicies/d", hook)
	for _, c := range []struct{ path, body, target string }{
		{"classificationPolicies/c", `{"prioritizationRule":{"functionUri":"https://evil.example"}}`, "/prioritizationRule/credential"},
		{"classificationPolicies/c", `{"prioritizationRule":{"functionUri":"https://evil.example","credential":{"clientId":"x"}}}`, "/prioritizationRule/credential/functionKey"},
		{"classificationPolicies/c", strings.ReplaceAll(made.text, "https://a.example", "https://evil.example"), "/queueSelectorAttachments/rule/clientCredential/clientSecret"},
		{"distributionPolicies/d", `{"mode":{"scoringRule":{"authorizationServerUri":"https://evil.example"}}}`, "/mode/scoringRule/clientCredential"},
		{"distributionPolicies/d", `{"mode":{"scoringRule":{"authorizationServerUri":"https://evil.example","clientCredential":{"clientSecret":"REDACTED"}}}}`, "/mode/scoringRule/clientCredential/clientSecret"},
		{"distributionPolicies/d", strings.ReplaceAll(d.text, "https://a.example", "https://evil.example"), "/mode/scoringRule/clientCredential/clientSecret"},
	} {
		a := r.do("PATCH", "/routing/"+c.path, c.body).failed(400, "BadRequest")
		if diff := cmp.Diff([]string{"Required " + c.target}, a.details()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.body, diff)
		}
	}
	for _, body := range []string{
		d.text, `{"mode":{"scoringRule":{"webhookUri":"https://f.example/w","clientCredential":{"clientSecret":"REDACTED"}}}}`,
		`{"mode":{"scoringRule":{"authorizationServerUri":"https://b.example","clientCredential":{"clientSecret":"anew"}}}}`, `{"mode":{"scoringRule":{"webhookUri":"https://g.example/w","clientCredential":null}}}`,
	} {
		r.ok(200, "PATCH", "/routing/distributionPolicies/d", body)
	}
}
