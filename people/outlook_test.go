package people_test

import (
	"slices"
	"testing"
	"time"

	"weir/people"
)

func TestLook_SaysInOneSentenceWhetherAPersonMayBeContacted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	refusal := people.State{Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromWord, At: now}
	over := people.State{Purpose: people.OverChannel("texts"), Status: people.Refused, Source: people.FromProvider, At: now}
	capped := people.Purpose{Caps: []people.Cap{{Max: 2, Within: "24h"}}}
	before := []people.Entry{{At: now.Add(-2 * time.Hour), Purpose: "p"}, {At: now.Add(-time.Hour), Purpose: "p"}}
	for name, tc := range map[string]struct {
		purpose people.Purpose
		states  []people.State
		before  []people.Entry
		want    people.Outlook
	}{
		"nothing recorded": {want: people.Outlook{Allowed: true, Text: "For p the person may be contacted now"}},
		"refused": {states: []people.State{refusal}, want: people.Outlook{
			Rule: people.RuleConsent, Text: "For p the person is not contacted: refused: the person sent a stop word",
		}},
		"refused over a channel": {states: []people.State{over}, want: people.Outlook{
			Allowed: true, NotOver: []string{"texts"}, Text: "For p the person may be contacted now, but not over texts",
		}},
		"refused over a channel, known under two keys of addresses": {states: []people.State{over, over}, want: people.Outlook{
			Allowed: true, NotOver: []string{"texts"}, Text: "For p the person may be contacted now, but not over texts",
		}},
		"exempt": {purpose: people.Purpose{ExemptFrom: []people.Rule{people.RuleConsent}, ExemptReason: "floods"}, states: []people.State{refusal, over}, want: people.Outlook{
			Allowed: true, Text: "For p the person may be contacted now, although the person has refused",
		}},
		"nothing recorded that is needed": {purpose: people.Purpose{Consent: people.IfRecorded}, want: people.Outlook{
			Rule: people.RuleUnrecorded, Text: "For p the person is not contacted: no consent for p is recorded",
		}},
		"a cap leaves one": {purpose: capped, before: before[:1], want: people.Outlook{Allowed: true, Text: "For p the person may be contacted now; cap 2 in 24h: 1 left"}},
		"a cap leaves none": {purpose: capped, before: before, want: people.Outlook{
			Rule: people.RuleCap, Until: now.Add(22 * time.Hour), Text: "For p the person is not contacted before 2026-03-02 10:00:00 UTC: contacted 2 in 24h already",
		}},
		"before quiet hours": {purpose: people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}}, want: people.Outlook{
			Allowed: true, Until: now.Add(9 * time.Hour), Text: "For p the person may be contacted now, until 2026-03-01 21:00:00 UTC",
		}},
	} {
		p, wrong := tc.purpose.Compile()
		if len(wrong) > 0 {
			t.Fatal(name, wrong)
		}
		tc.want.Purpose = "p"
		got := people.Look(&people.Claim{Name: "p", Purpose: p, Zones: []*time.Location{time.UTC}, States: tc.states, Before: tc.before}, now)
		if got.Text != tc.want.Text || got.Allowed != tc.want.Allowed || got.Rule != tc.want.Rule || !got.Until.Equal(tc.want.Until) || !slices.Equal(got.NotOver, tc.want.NotOver) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, tc.want)
		}
	}
}

func TestNumbers_HaveTheFormsThatChannelsMayKnow(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]string{
		"+52 55 1234 5678": {"+525512345678", "+5215512345678"}, "+5491123456789": {"+541123456789", "+5491123456789"}, "15559998877": {"+15559998877"}, "chat-12": nil,
	} {
		if got := people.Numbers(people.Canonical(given)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", given, got, want)
		}
	}
}
