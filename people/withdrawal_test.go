package people_test

import (
	"testing"

	"weir"
	"weir/people"
)

// Contacts are called off of whoever has refused their purpose, unless it is exempt or the refusal
// changes nothing.
func TestWithdrawal_CoversWhatWasRefused(t *testing.T) {
	t.Parallel()
	exempt := compiled(t, people.Purpose{ExemptFrom: []people.Rule{people.RuleConsent}, ExemptReason: "floods"})
	said := []struct{ to, purpose, status, behind string }{
		{"+15550001", people.AllPurposes, "refused", "refused"}, {"+15550002", "p", "refused", "refused"}, {"+15550002", "q", "refused", "refused"},
		{"+15550003", people.AllPurposes, "refused", "given"}, {"+15550004", people.AllPurposes, "given", "refused"}, {"+15550005", people.DefaultPurpose, "refused", "refused"},
	}
	var consents []people.Consent
	var states []people.State
	for _, s := range said {
		consents = append(consents, people.Consent{Address: people.Canonical(s.to), Purpose: s.purpose, Status: people.Status(s.status)})
		states = append(states, people.State{Purpose: s.purpose, Status: people.Status(s.behind)})
	}
	w := people.Withdrawn(consents, states, map[string]*people.Purpose{"e": exempt, "p": people.NoRules()})
	for _, c := range []struct {
		to, purpose string
		want        bool
	}{
		{"+15550001", "", true}, {"+15550001", "p", true}, {"+15550001", "e", false},
		{"+15550002", "p", true}, {"+15550002", "q", true}, {"+15550002", "r", false}, {"+15550002", "", false},
		{"+15550003", "p", false}, {"+15550004", "p", false}, {"+15550005", "", true}, {"+15550005", "p", false}, {"+15550006", "p", false},
	} {
		if got := w.Covers(&weir.Contact{Spec: weir.Spec{To: c.to, Purpose: c.purpose}}); got != c.want {
			t.Errorf("a contact to %s for %q: %v, want %v", c.to, c.purpose, got, c.want)
		}
	}
	if w.Empty() || !people.Withdrawn(consents[3:5], states[3:5], nil).Empty() {
		t.Error("a withdrawal is empty if nothing was refused, and then alone")
	}
}
