package people_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/people"
)

func sources() *rapid.Generator[people.Source] { return rapid.SampledFrom(people.Sources()) }

func statuses() *rapid.Generator[people.Status] { return rapid.SampledFrom(people.Statuses()) }

// A contact is refused by the latest thing that the person said about it, or somebody for the person, unless the
// person has refused it last: then nobody else counts.
func TestDecide_TheLatestCountsAndThePersonsRefusal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	purposes := []string{people.AllPurposes, "research", "other", people.OverChannel("texts"), people.OverChannel("calls")}
	rapid.Check(t, func(t *rapid.T) {
		var states []people.State
		for i, purpose := range rapid.SliceOfNDistinct(rapid.SampledFrom(purposes), 0, len(purposes), rapid.ID[string]).Draw(t, "purposes") {
			for j := range rapid.IntRange(1, 2).Draw(t, "keys") { // known under two keys
				states = append(states, people.State{
					Purpose: purpose, Status: statuses().Draw(t, "status"), Source: sources().Draw(t, "source"),
					At: at.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "at"))), Version: int64(10*i + j + 1),
				})
			}
		}
		back := func(s people.State) bool { return s.Status == people.Given && s.Source == people.FromProvider }
		var counted []people.State
		for _, s := range states {
			lifted := slices.ContainsFunc(states, func(b people.State) bool { return back(b) && b.Purpose == s.Purpose && b.At.After(s.At) })
			if slices.Contains([]string{people.AllPurposes, "research", people.OverChannel("texts")}, s.Purpose) && !back(s) && !lifted {
				counted = append(counted, s)
			}
		}
		// Behind each other, at one instant the refusals last.
		slices.SortStableFunc(counted, func(a, b people.State) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(len(b.Status), len(a.Status))*map[bool]int{true: -1, false: 1}[len(people.Refused) > len(people.Given)])
		})
		own := slices.DeleteFunc(slices.Clone(counted), func(s people.State) bool { return !s.Source.ByPerson() })
		var want people.State
		switch {
		case len(own) > 0 && own[len(own)-1].Status == people.Refused:
			want = own[len(own)-1]
		case len(counted) > 0:
			want = counted[len(counted)-1]
		}
		refused, by := people.Decide(states, "research", people.OverChannel("texts"))
		if refused != (want.Status == people.Refused) || by.Status != want.Status || !by.At.Equal(want.At) || by.Source.ByPerson() != want.Source.ByPerson() && want.Status == people.Refused && len(own) > 0 && own[len(own)-1].Status == people.Refused {
			t.Fatalf("refused %v by %+v, want by %+v", refused, by, want)
		}
		if by != (people.State{}) && !slices.Contains(states, by) {
			t.Fatalf("%+v is none of its states", by)
		}
	})
}

// The person's own sources are these; whatever a consent says, the state is the one of before, or all of the consent.
func TestNext_IsTheConsentOrChangesNothing(t *testing.T) {
	t.Parallel()
	own := []people.Source{people.FromWord, people.FromProvider, people.FromApplication, people.FromOperator}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		now := people.State{Purpose: "p", Status: statuses().Draw(t, "was"), Source: sources().Draw(t, "was from"), At: at, Version: 1}
		c := people.Consent{
			ID: 2, Purpose: "p", Status: statuses().Draw(t, "status"), Source: sources().Draw(t, "source"),
			At: at.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "at"))),
		}
		if now.Source.ByPerson() != slices.Contains(own, now.Source) {
			t.Fatalf("%s is the person: %v", now.Source, now.Source.ByPerson())
		}
		is := people.State{Purpose: "p", Status: c.Status, Source: c.Source, At: c.At, Version: 2}
		want := is
		if c.At.Before(at) || now.Status == people.Refused && slices.Contains(own, now.Source) && !slices.Contains(own, c.Source) {
			want = now
		}
		if got := people.Next(now, &c); got != want {
			t.Fatalf("%+v and then %+v: %+v, want %+v", now, c, got, want)
		}
		if got := people.Next(people.State{}, &c); got != is {
			t.Fatalf("of nobody known: %+v, want %+v", got, is)
		}
	})
}

// What is said now is the latest thing, and so is a refusal that was heard before something was known; lists keep
// their instants.
func TestFollow_WhatIsSaidNowIsTheLatest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, ahead := now.Add(-time.Hour), now.Add(time.Hour)
	known := func(at time.Time) people.State { return people.State{Purpose: "p", At: at, Version: 10} }
	for name, c := range map[string]struct {
		consent people.Consent
		states  []people.State
		want    time.Time
	}{
		"now":                                           {people.Consent{Source: people.FromAPI}, nil, now},
		"now, with an older state":                      {people.Consent{Source: people.FromAPI}, []people.State{known(before)}, now},
		"now, with a state of this instant":             {people.Consent{Source: people.FromAPI}, []people.State{known(now)}, now.Add(time.Microsecond)},
		"now, with states from the future":              {people.Consent{Source: people.FromImport}, []people.State{known(ahead), known(ahead.Add(time.Hour)), known(before)}, ahead.Add(time.Hour + time.Microsecond)},
		"a list":                                        {people.Consent{Source: people.FromImport, At: before}, []people.State{known(now)}, before},
		"a client with an instant":                      {people.Consent{Source: people.FromAPI, Status: people.Refused, At: before}, []people.State{known(ahead)}, before},
		"the person, by a clock that is behind":         {people.Consent{Source: people.FromWord, At: before}, []people.State{known(now)}, now.Add(time.Microsecond)},
		"the person, late":                              {people.Consent{Source: people.FromWord, At: before, Late: true}, []people.State{known(now)}, before},
		"a late refusal":                                {people.Consent{Source: people.FromWord, Status: people.Refused, At: before, Late: true}, []people.State{known(now)}, before},
		"a late refusal behind a state from the future": {people.Consent{Source: people.FromWord, Status: people.Refused, At: before, Late: true}, []people.State{known(ahead)}, ahead.Add(time.Microsecond)},
		"a late refusal, heard after the state":         {people.Consent{Source: people.FromWord, Status: people.Refused, At: before, Late: true, Heard: 11}, []people.State{known(now)}, now.Add(time.Microsecond)},
		"a late refusal, heard before the state":        {people.Consent{Source: people.FromWord, Status: people.Refused, At: before, Late: true, Heard: 10}, []people.State{known(now)}, before},
		"a late consent, heard after the state":         {people.Consent{Source: people.FromWord, Status: people.Given, At: before, Late: true, Heard: 11}, []people.State{known(now)}, before},
		"a refusal that is not late has no such order":  {people.Consent{Source: people.FromImport, Status: people.Refused, At: before, Heard: 11}, []people.State{known(now)}, before},
	} {
		got := c.consent
		if got.Follow(c.states, now); !got.At.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got.At, c.want)
		}
	}
}

// Hashes of the history, of consents and of other keys have nothing in common, and are always the same.
func TestKey_HistoryIsApartFromConsents(t *testing.T) {
	t.Parallel()
	keys := []people.Key{people.ConfiguredKey([]byte("one")), people.ConfiguredKey([]byte("two"))}
	seen := map[people.Hash]bool{}
	for _, k := range append(keys, people.ConfiguredKey([]byte("one"))) {
		for _, address := range []string{"tel:+15550100234", "tel:+15550100235"} {
			seen[k.Hash(address)], seen[k.History(address)] = true, true
		}
	}
	if len(seen) != 8 || seen[people.Hash{}] || keys[0].ID() == keys[1].ID() || keys[0].ID() != people.ConfiguredKey([]byte("one")).ID() {
		t.Errorf("%d hashes, keys %s and %s", len(seen), keys[0].ID(), keys[1].ID())
	}
}
