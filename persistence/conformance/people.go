package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/channels"
	"weir/internal/phonenumber"
	"weir/people"
)

func peopleTopics() []topic {
	return []topic{
		{"claims of contacts to people who refused", testRefusedClaims},
		{"what follows a claim that was refused", testRefusedClaimBehindIt},
		{"consents", testConsents},
		{"a long list of consents", testImportedConsents},
		{"numbers that their country has changed", testRenumbered},
		{"keys of people", testPeopleKeys},
		{"erasure of people", testErasure},
		{"what a person says whatever clocks do", testAnyClock},
		{"refusals beside claims", testRefusalsRace},
		{"opt-outs that a provider reports", testProviderOptOuts},
		{"opt-outs of several people at once", testOptOutsAtOnce},
	}
}

// withKeys makes a store whose keys of people are open.
func withKeys(t *testing.T, backend Backend) *bench {
	t.Helper()
	b := newBench(t, backend)
	b.ok(b.OpenPeople(b.ctx(), nil))
	return b
}

func (b *bench) says(to string, s people.Status) {
	b.t.Helper()
	must[[]people.State](b.t)(b.RecordConsents(b.ctx(), []people.Consent{{
		Address: people.Canonical(to), Purpose: people.AllPurposes, Status: s, Source: people.FromWord, At: now(), Words: "STOP", By: "sms",
	}}))
}

// testRefusedClaims: no claim of a contact to somebody who has refused is committed, neither
// as it is accepted nor out of the queue; the contact ends instead.
func testRefusedClaims(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.WantContactEvents(b.ctx()))
	id, lease := b.owned("a")
	theirs, other := sms("theirs"), sms("other")
	other.To = "+15550002"
	waiting := b.accept(id, theirs, other)
	b.says("15550001", people.Refused)

	r := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{claim(waiting[0], now()), claim(waiting[1], now())}})
	if r.Err != nil || len(r.Stale) > 0 || len(r.Judged) != 1 || r.Judged[0].ID != waiting[0].ID {
		t.Fatalf("claims out of the queue: %+v", r)
	}
	stored, attempts := b.read(waiting[0].Ref)
	same(t, "the contact of whoever refused", stored, r.Judged[0])
	if stored.State != weir.Done || stored.Outcome != weir.Suppressed || !strings.Contains(stored.Reason, "stop word") || stored.Attempt != 0 || len(attempts) > 0 {
		t.Errorf("it is %+v, with %d attempts", stored.Progress, len(attempts))
	}
	if c, _ := b.read(waiting[1].Ref); c.State != weir.Sending {
		t.Errorf("the other contact is %v", c.State)
	}
	b.wantQueued(id, 0)

	at := sms("at once")
	got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 2, at, sms("at once too")))
	for _, a := range got {
		c, _ := b.read(a.Contact.Ref)
		same(t, "as it was accepted", c, a.Contact)
		if c.Outcome != weir.Suppressed || c.Dead() {
			t.Errorf("accepted, it is %+v", c.Progress)
		}
	}
	again := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, at))
	if !again[0].Duplicate || again[0].Contact.Outcome != weir.Suppressed {
		t.Errorf("sent again: %+v", again[0])
	}
	b.wantQueued(id, 0)
	if list := must[[]weir.Contact](t)(b.InFlight(b.ctx(), id)); len(list) != 1 {
		t.Errorf("%d are in flight", len(list))
	}

	b.says("+15550001", people.Given)
	back := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, sms("taken back")))
	if back[0].Contact.State != weir.Sending {
		t.Errorf("after the refusal was taken back it is %+v", back[0].Contact.Progress)
	}
}

// testRefusedClaimBehindIt: what follows a claim that was not committed is stale.
func testRefusedClaimBehindIt(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	waiting := b.accept(id, sms("k"))[0]
	b.says(waiting.To, people.Refused)
	first := claim(waiting, now())
	p, err := first.Contact.RequestCancel()
	one, two := b.later(weir.Change{By: lease, Transitions: []weir.Transition{first}}), b.later(weir.Change{By: lease, Transitions: []weir.Transition{to(first.Contact, p, err)}})
	if r := <-one; r.Err != nil || len(r.Judged) != 1 || len(r.Stale) > 0 {
		t.Errorf("the claim: %+v", r)
	}
	if r := <-two; r.Err != nil || len(r.Stale) != 1 {
		t.Errorf("the cancel behind it: %+v", r)
	}
	if c, _ := b.read(waiting.Ref); c.Outcome != weir.Suppressed {
		t.Errorf("it is %+v", c.Progress)
	}
}

// testRenumbered: what was recorded for a number before its country changed it, and before Weir
// knew of the change, counts for the number of today.
func testRenumbered(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	_, lease := b.owned("a")
	var before []people.Consent
	var contacts []weir.Spec
	var numbers []string
	for i, r := range phonenumber.Renumberings() {
		old, today := r.Example()
		numbers = append(numbers, today)
		before = append(before, people.Consent{Address: "tel:" + old, Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromAPI, At: now()})
		for _, to := range []string{old, today} {
			s := sms(fmt.Sprint(i, to))
			s.To = to
			contacts = append(contacts, s)
		}
	}
	must[[]people.State](t)(b.RecordConsents(b.ctx(), before))
	for _, a := range must[[]weir.Accepted](t)(b.acceptClaimed(lease, len(contacts), contacts...)) {
		if c := a.Contact; c.Outcome != weir.Suppressed {
			t.Errorf("a contact to %s is %v %v although the person has refused", c.To, c.State, c.Outcome)
		}
	}
	for i, number := range numbers {
		b.says(number, people.Given)
		states, list, err := b.Consents(b.ctx(), people.Canonical(number), 10)
		b.ok(err)
		if refused, _ := people.Decide(states, people.AllPurposes); refused || len(list) != 2 {
			t.Errorf("%s: %+v, %+v", number, states, list)
		}
		again := contacts[2*i]
		again.Key += " again"
		if got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, again)); got[0].Contact.Outcome == weir.Suppressed {
			t.Errorf("a contact to %s is suppressed although the refusal was taken back", again.To)
		}
		if n := must[int](t)(b.Erase(b.ctx(), people.Canonical(number))); n != 2 {
			t.Errorf("%d consents of %s were erased", n, number)
		}
	}
}

// testConsents records, repeats and reads consents.
func testConsents(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	at := now().Add(-time.Hour)
	one := people.Consent{Key: "k1", Address: "tel:+15550001", Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromAPI, At: at, Words: "não quero ✋", By: "t1"}
	two := people.Consent{Address: "tel:+15550001", Purpose: "research", Status: people.Given, Source: people.FromImport, At: at.Add(time.Minute)}
	other := people.Consent{Address: "other:chat-1", Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromWord, At: at}
	states := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{one, two, other}))
	again := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{one}))
	same(t, "repeated", again, states[:1])
	stranger := one
	stranger.Address = "tel:+15550002"
	if got := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{stranger, stranger})); got[0].Version == states[0].Version || got[1] != got[0] {
		t.Errorf("the key of another person: %+v, before %+v", got, states[0])
	}
	older := two
	older.Status, older.At = people.Refused, at.Add(-time.Hour)
	same(t, "one that is older changes nothing", must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{older})), states[1:2])

	got, list, err := b.Consents(b.ctx(), "tel:+15550001", 10)
	b.ok(err)
	if len(got) != 2 || len(list) != 3 {
		t.Fatalf("%d states, %d consents: %+v", len(got), len(list), list)
	}
	one.ID, two.ID, older.ID = list[2].ID, list[1].ID, list[0].ID
	same(t, "the history", list, []people.Consent{older, two, one})
	if one.ID >= two.ID || two.ID >= older.ID || states[0].Version != one.ID || states[1].Version != two.ID {
		t.Errorf("ids %d, %d, %d; states %+v", one.ID, two.ID, older.ID, states)
	}
	if _, page, err := b.Consents(b.ctx(), "tel:+15550001", 1); err != nil || len(page) != 1 || page[0].ID != older.ID {
		t.Errorf("the latest: %+v (%v)", page, err)
	}
	if got, list, err := b.Consents(b.ctx(), "tel:+15550009", 10); err != nil || len(got)+len(list) > 0 {
		t.Errorf("of somebody unknown: %+v, %+v (%v)", got, list, err)
	}
	many := make([]people.Consent, 1000)
	for i := range many {
		many[i] = people.Consent{Key: fmt.Sprintf("m%d", i), Address: fmt.Sprintf("tel:+1777%07d", i/2), Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromImport}
	}
	for range 2 {
		if got := must[[]people.State](t)(b.RecordConsents(b.ctx(), many)); len(got) != 1000 || got[999].Status != people.Refused {
			t.Errorf("%d states", len(got))
		}
	}
	if _, list, err := b.Consents(b.ctx(), "tel:+17770000499", 10); err != nil || len(list) != 2 {
		t.Errorf("of a thousand: %+v (%v)", list, err)
	}
}

// testImportedConsents: a long list says of each person what it says in its order, once, also if it breaks off and is
// repeated.
func testImportedConsents(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	const persons, rows = 250, 2600
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]people.Consent, rows)
	last, said := map[string]people.Status{}, map[string]int{}
	for i := range list {
		c := people.Consent{Key: fmt.Sprint("row ", i), Address: fmt.Sprintf("tel:+1777%07d", random.IntN(persons)), Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromAPI}
		if i%40 < 20 { // one person has so many rows that they are more than those of a part
			c.Address = "tel:+17779999999"
		}
		if random.IntN(2) == 0 {
			c.Status = people.Given
		}
		list[i], last[c.Address] = c, c.Status
		said[c.Address]++
	}
	ended, cancel := context.WithCancel(b.ctx())
	cancel()
	if _, err := b.ImportConsents(ended, list); err == nil {
		t.Error("an import that was given up has no error")
	}
	var first []people.State
	for range 2 {
		states := must[[]people.State](t)(b.ImportConsents(b.ctx(), list))
		if first == nil {
			first = states
		}
		for i := range list {
			if first[i].Status != list[i].Status {
				t.Fatalf("behind row %d it is %+v, want %v", i, first[i], list[i].Status)
			}
		}
		for address, ends := range last {
			if got, _, err := b.Consents(b.ctx(), address, 1); err != nil || len(got) != 1 || got[0].Status != ends {
				t.Fatalf("%s: %+v (%v), and the list ends with %v", address, got, err, ends)
			}
		}
	}
	for address, n := range said {
		if _, list, err := b.Consents(b.ctx(), address, rows); err != nil || len(list) != n {
			t.Errorf("%s has %d consents, want %d (%v)", address, len(list), n, err)
		}
	}
}

// testAnyClock: what is said now counts, whatever clocks did before: a refusal stops every claim, and only
// what the person says lets it pass again.
func testAnyClock(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	b.purpose("research", people.Purpose{})
	rounds := 0
	clock := rapid.SampledFrom([]time.Duration{-365 * 24 * time.Hour, -time.Second, 0, time.Second, 365 * 24 * time.Hour})
	rapid.Check(t, func(rt *rapid.T) {
		rounds++
		number := fmt.Sprintf("+1777%07d", rounds)
		draw := func(live bool) people.Consent {
			c := people.Consent{
				Address: people.Canonical(number), Purpose: people.AllPurposes, Status: rapid.SampledFrom(people.Statuses()).Draw(rt, "status"),
				Source: rapid.SampledFrom(people.Sources()).Draw(rt, "source"), At: now().Add(clock.Draw(rt, "clock")),
			}
			if c.Source.ByPerson() && c.Source != people.FromWord {
				c.Status = people.Refused // only a message takes a refusal back
			}
			if !live && (c.Source == people.FromProvider || !c.Source.ByPerson()) {
				c.Purpose = rapid.SampledFrom([]string{people.AllPurposes, "research", people.OverChannel("a")}).Draw(rt, "purpose")
			}
			if live && !c.Source.ByPerson() {
				c.Status, c.At = people.Refused, time.Time{} // what a client says without an instant is said now
			}
			return c
		}
		for range rapid.IntRange(0, 4).Draw(rt, "before") {
			must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{draw(false)}))
		}
		last := draw(true)
		if last.Source == people.FromWord {
			said := heard(id, fmt.Sprint("clock", rounds), map[people.Status]people.Said{people.Refused: people.SaidStop, people.Given: people.SaidStart}[last.Status], "STOP or START")
			said.From, said.ReplyTo, said.At = last.Address, "", last.At
			b.hear(said)
		} else {
			must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{last}))
		}
		for _, purpose := range []string{"", "research"} {
			spec := smsFor(purpose, number+purpose)
			spec.To = number
			if c := b.claimed(lease, b.accept(id, spec)[0]); (c.Outcome == weir.Suppressed) != (last.Status == people.Refused) {
				rt.Errorf("after %s by %s a claim of purpose %q is %v, %q", last.Status, last.Source, purpose, c.Outcome, c.Reason)
			}
		}
	})
}

// testPeopleKeys: a key that hashed something is never missing, and may be replaced.
func testPeopleKeys(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	first, second, third := []byte("first key"), []byte("second key"), []byte("third key")
	b.ok(b.OpenPeople(b.ctx(), [][]byte{first}))
	b.says("+15550001", people.Refused)
	b.says("+15550003", people.Given)
	for name, keys := range map[string][][]byte{"none": nil, "another": {second}} {
		if err := b.OpenPeople(b.ctx(), keys); err == nil || !strings.Contains(err.Error(), "WEIR_PEOPLE_KEY") || !strings.Contains(err.Error(), "2 recorded") {
			t.Errorf("with %s: %v", name, err)
		}
	}
	listed := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{{
		Key: "list", Address: people.Canonical("+15550002"), Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromImport, At: now(),
	}}))
	b.ok(b.OpenPeople(b.ctx(), [][]byte{second, first})) // rotated
	_, lease := b.owned("a")
	theirs := sms("k")
	if got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, theirs)); got[0].Contact.Outcome != weir.Suppressed {
		t.Errorf("refused under the old key: %+v", got[0].Contact.Progress)
	}
	b.says("+15550001", people.Given) // under the new one
	b.ok(b.OpenPeople(b.ctx(), [][]byte{third, second, first}))
	repeated := people.Consent{Key: "list", Address: people.Canonical("+15550002"), Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromImport, At: now().Add(time.Hour)}
	if got := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{repeated})); got[0] != listed[0] {
		t.Errorf("repeated under a new key: %+v, not %+v", got, listed)
	}
	theirs.Key = "k2"
	if got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, theirs)); got[0].Contact.State != weir.Sending {
		t.Errorf("taken back under the new key: %+v", got[0].Contact.Progress)
	}
	b.says("+15550003", people.Refused)
	imported := people.Consent{Address: people.Canonical("+15550003"), Purpose: people.AllPurposes, Status: people.Given, Source: people.FromImport, At: now().Add(time.Hour)}
	if got := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{imported})); got[0].Status != people.Refused {
		t.Errorf("given under an old key and refused under the new one, then imported as given: %+v", got)
	}
	theirs.Key, theirs.To = "k3", "+15550003"
	if got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, theirs)); got[0].Contact.Outcome != weir.Suppressed {
		t.Errorf("given under an old key, then refused under the new one: %+v", got[0].Contact.Progress)
	}
}

// testRefusalsRace: whoever refuses while contacts to them are accepted and claimed is not
// claimed once the refusal is recorded.
func testRefusalsRace(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	rounds := 0
	rapid.Check(t, func(rt *rapid.T) {
		rounds++
		name := fmt.Sprintf("c%d", rounds)
		id, lease := b.owned(name)
		number := fmt.Sprintf("+1777%07d", rounds)
		n, before := rapid.IntRange(1, 20).Draw(rt, "contacts"), rapid.IntRange(0, 20).Draw(rt, "before")
		list := make([]weir.Spec, n)
		for i := range list {
			list[i] = sms(fmt.Sprintf("%s-%d", name, i))
			list[i].To = number
		}
		waiting := b.accept(id, list...)
		var refused sync.WaitGroup
		recorded := make(chan struct{})
		for i, c := range waiting {
			if i == min(before, n-1) {
				refused.Go(func() {
					defer close(recorded)
					_, err := b.RecordConsents(b.ctx(), []people.Consent{{Address: people.Canonical(number), Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromWord, At: now()}})
					if err != nil {
						rt.Error(err)
					}
				})
				if rapid.Bool().Draw(rt, "answered") {
					<-recorded
				}
			}
			answered := false
			select {
			case <-recorded:
				answered = true
			default:
			}
			done := b.later(weir.Change{By: lease, Transitions: []weir.Transition{claim(c, now())}})
			if r := <-done; answered && (r.Err != nil || len(r.Judged) != 1) {
				rt.Errorf("contact %d was claimed after the refusal was answered: %+v", i, r)
			}
		}
		refused.Wait()
		inFlight := 0
		for _, c := range waiting {
			if is, _ := b.read(c.Ref); is.State == weir.Sending {
				inFlight++
			} else if is.Outcome != weir.Suppressed {
				rt.Errorf("a contact is %+v", is.Progress)
			}
		}
		b.wantQueued(id, 0)
		if got := must[[]weir.Contact](t)(b.InFlight(b.ctx(), id)); len(got) != inFlight {
			rt.Errorf("%d are in flight, %d are stored so", len(got), inFlight)
		}
	})
}

// testProviderOptOuts: whom the provider refuses because they have opted out there is not
// contacted over that channel again, until the person takes it back; others are not concerned.
func testProviderOptOuts(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	a, byA := b.owned("a")
	other, byOther := b.owned("b")
	list := b.accept(a, sms("1"), sms("2"), sms("3"))
	first := b.claimed(byA, list[0])
	p, err := first.Finish(now(), weir.Failed, channels.OptedOut)
	b.commitAll(byA, to(first, p, err))
	if c := b.claimed(byA, list[1]); c.Outcome != weir.Suppressed || !strings.Contains(c.Reason, "provider") {
		t.Errorf("over the channel: %+v", c.Progress)
	}
	if c := b.claimed(byOther, b.accept(other, sms("1"))[0]); c.State != weir.Sending {
		t.Errorf("over another: %+v", c.Progress)
	}
	states, history, err := b.Consents(b.ctx(), people.Canonical(list[0].To), 10)
	b.ok(err)
	if len(states) != 1 || states[0].Purpose != people.OverChannel("a") || states[0].Source != people.FromProvider || len(history) != 1 || history[0].By != "a" {
		t.Errorf("recorded are %+v, %+v", states, history)
	}
	must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{{Address: people.Canonical(list[0].To), Purpose: people.AllPurposes, Status: people.Given, Source: people.FromAPI, At: now()}}))
	if c := b.claimed(byA, list[2]); c.Outcome != weir.Suppressed {
		t.Errorf("after a client's consent: %+v", c.Progress)
	}
	b.says(list[0].To, people.Given)
	if c := b.claimed(byA, b.accept(a, sms("4"))[0]); c.State != weir.Sending {
		t.Errorf("after the person's word: %+v", c.Progress)
	}
}

// testOptOutsAtOnce: of several people whom providers report as opted out in one batch, each has
// refused, over the channel of the report.
func testOptOutsAtOnce(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	var list []weir.Spec
	for i := range 3 {
		s := sms(fmt.Sprint(i))
		s.To = fmt.Sprintf("+1555000%d", i)
		list = append(list, s)
	}
	var ends []weir.Transition
	for _, a := range must[[]weir.Accepted](t)(b.acceptClaimed(lease, len(list), list...)) {
		p, err := a.Contact.Finish(now(), weir.Failed, channels.OptedOut)
		ends = append(ends, to(a.Contact, p, err))
	}
	b.commitAll(lease, ends...)
	for _, s := range list {
		states, history, err := b.Consents(b.ctx(), people.Canonical(s.To), 10)
		b.ok(err)
		if len(states) != 1 || states[0].Purpose != people.OverChannel("a") || states[0].Status != people.Refused || len(history) != 1 {
			t.Errorf("of %s are recorded %+v, %+v", s.To, states, history)
		}
		s.Key += " again"
		if c := b.claimed(lease, b.accept(id, s)[0]); c.Outcome != weir.Suppressed {
			t.Errorf("a contact to %s, who has opted out, is %+v", s.To, c.Progress)
		}
	}
}

// testErasure: of an erased person the history has no address, words and keys; the person stays
// refused, also when the address comes again.
func testErasure(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	const theirs, other = "tel:+15550001", "tel:+15550002"
	for _, address := range []string{theirs, other} {
		must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{{
			Key: "import:" + address, Address: address, Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromImport, At: now(), Words: "never again", By: "t1",
		}}))
	}
	if n := must[int](t)(b.Erase(b.ctx(), theirs)); n != 1 {
		t.Errorf("%d consents were erased", n)
	}
	if n := must[int](t)(b.Erase(b.ctx(), theirs)); n != 0 {
		t.Errorf("%d consents were erased again", n)
	}
	all := must[[]people.Consent](t)(b.AllConsents(b.ctx(), 0, 10))
	if len(all) != 2 || all[0].Address+all[0].Words+all[0].Key != "" || all[1].Address != other || all[1].Words == "" {
		t.Errorf("the history is %+v", all)
	}
	if rest := must[[]people.Consent](t)(b.AllConsents(b.ctx(), all[0].ID, 10)); len(rest) != 1 || rest[0].ID != all[1].ID {
		t.Errorf("behind the first one: %+v", rest)
	}
	again := must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{{Key: "import:" + theirs, Address: theirs, Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromImport, At: all[0].At}}))
	if again[0].Status != people.Refused {
		t.Errorf("the state after an import: %+v", again)
	}
	if c := b.claimed(lease, b.accept(id, sms("1"))[0]); c.Outcome != weir.Suppressed {
		t.Errorf("a contact to whoever was erased: %+v", c.Progress)
	}
}
