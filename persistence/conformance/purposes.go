package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/internal/document"
	"weir/internal/phonenumber"
	"weir/limits"
	"weir/people"
)

func purposeTopics() []topic {
	return []topic{
		{"purposes", testPurposes},
		{"documents that several create at once", testCreatorsAtOnce},
		{"claims that a cap delays", testCappedClaims},
		{"a cap that is made longer", testLongerCap},
		{"a claim that is retracted in its batch", testRetractedClaim},
		{"rules that are put back", testRulesPutBack},
		{"claims of the same text", testRepeatedText},
		{"claims of a person with a long history", testLongHistory},
		{"claims without a recorded consent", testRecordedConsent},
		{"receipts", testReceipts},
		{"claims that the database was late for", testLateClaims},
		{"caps beside claims", testCapsRace},
		{"limits that channels share", testLimits},
		{"money", testMoney},
		{"a price that is deleted", testDeletedPrice},
		{"budgets of surveys", testBudgets},
		{"budgets after a start", testBudgetsAtStart},
		{"sums of days", testDailySums},
		{"new people a day", testNewPeople},
		{"replies, which limits alone count", testReplies},
		{"one new person a day", testOneNewPerson},
		{"one person in two notations", testTwoNotations},
	}
}

func (b *bench) purpose(name string, p people.Purpose) {
	b.t.Helper()
	compiled, wrong := p.Compile()
	if len(wrong) > 0 {
		b.t.Fatal(wrong)
	}
	b.ok(b.PutPurpose(b.ctx(), name, compiled, document.Condition{}))
}

func smsFor(purpose, key string) weir.Spec {
	s := sms(key)
	s.Purpose = purpose
	return s
}

// claimed claims a contact and returns it as it is stored.
func (b *bench) claimed(lease weir.Incarnation, c weir.Contact) weir.Contact {
	b.t.Helper()
	if r := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{claim(c, now())}}); r.Err != nil || len(r.Stale) > 0 {
		b.t.Fatalf("the claim: %+v", r)
	}
	got, _ := b.read(c.Ref)
	return got
}

// testPurposes sets, reads and deletes purposes; another process reads them as they are.
func testPurposes(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("research", people.Purpose{Title: "Études ✓", Caps: []people.Cap{{Max: 1, Within: "1h"}}})
	b.purpose("reminders", people.Purpose{QuietHours: &people.Hours{From: "21:00", To: "08:00"}})
	b.purpose("reminders", people.Purpose{QuietHours: &people.Hours{From: "22:00", To: "08:00"}})
	id, lease := b.owned("a")
	first := b.claimed(lease, b.accept(id, smsFor("research", "1"))[0])
	waiting := b.accept(id, smsFor("research", "2"))[0]
	if got := b.Purposes(); len(got) != 2 || got["research"].Title != "Études ✓" || got["reminders"].QuietHours.From != "22:00" {
		t.Errorf("the purposes: %+v", got)
	}
	b.ok(b.DeletePurpose(b.ctx(), "research"))
	if err := b.DeletePurpose(b.ctx(), "research"); weir.CodeOf(err) != weir.CodeNotFound {
		t.Errorf("deleted again: %v", err)
	}
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start
	if got := b.Purposes(); len(got) != 1 || got["reminders"] == nil {
		t.Errorf("the purposes after a deletion: %+v", got)
	}
	if got := b.claimed(lease, waiting); first.State != weir.Sending || got.Receipt.Rule != string(people.RuleCap) {
		t.Errorf("the rules of a deleted purpose do not hold for what waited: %+v", got.Progress)
	}
}

// testCappedClaims: a contact beyond a cap waits until the cap leaves one; an attempt of which
// certainly nothing went out does not count, one that ended does, also after a start.
func testCappedClaims(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("research", people.Purpose{Caps: []people.Cap{{Max: 2, Within: "7d", Over: people.OverAll}}})
	id, lease := b.owned("a")
	another := func(key string) weir.Spec {
		s := smsFor("research", key)
		s.To = "+15550008"
		return s
	}
	list := b.accept(id, smsFor("research", "1"), sms("2"), smsFor("research", "3"), smsFor("research", "4"))
	first := b.claimed(lease, list[0])
	facts, ok := people.ReadFacts(first.Receipt)
	if !ok || len(facts.Left) != 1 || facts.Left[0].N != 1 || facts.Purpose != "research" {
		t.Errorf("the receipt of the first: %+v", first.Receipt)
	}
	other := b.claimed(lease, list[1])
	if other.State != weir.Sending {
		t.Fatalf("a contact of a purpose without rules is %+v", other.Progress)
	}
	third := b.claimed(lease, list[2])
	if third.State != weir.Delayed || third.Attempt != 0 || third.Receipt.Rule != "cap" || !third.DueAt.Equal(first.ClaimedAt.Add(7*24*time.Hour)) {
		t.Errorf("a contact beyond the cap is %+v", third.Progress)
	}
	b.wantQueued(id, 2)

	b.commitAll(lease, requeue(other, now(), time.Time{})) // the provider certainly does not have it
	b.commitAll(lease, finish(first, now(), weir.Completed))
	b.ok(b.OpenPeople(b.ctx(), nil))
	fourth := b.claimed(lease, list[3])
	if fourth.State != weir.Sending {
		t.Errorf("a contact that the cap leaves is %+v", fourth.Progress)
	}
	p, err := fourth.Unclaim()
	b.commitAll(lease, to(fourth, p, err))
	fourth, _ = b.read(fourth.Ref)
	if fourth = b.claimed(lease, fourth); fourth.State != weir.Sending || fourth.Attempt != 1 {
		t.Errorf("after an undone claim it is %+v", fourth.Progress)
	}
	refused := b.claimed(lease, b.accept(id, another("refused"))[0])
	b.commitAll(lease, finish(refused, now(), weir.Failed)) // by the provider, in its answer
	rang := b.claimed(lease, b.accept(id, another("rang"))[0])
	rang.HeardAt = now()
	b.commitAll(lease, finish(rang, now(), weir.NoAnswer)) // a report that came before the answer
	if c := b.claimed(lease, b.accept(id, another("second"))[0]); c.State != weir.Sending {
		t.Errorf("after a contact that was refused and one that rang: %+v", c.Progress)
	}
	if c := b.claimed(lease, b.accept(id, another("third"))[0]); c.Receipt.Rule != "cap" {
		t.Errorf("a report before the provider's answer does not count: %+v", c.Progress)
	}
	reply, asked := smsFor("research", "reply"), smsFor("research", "asked")
	reply.Priority, reply.To, asked.To = weir.Reply, "+15550009", "+15550009"
	second := reply
	second.Key = "another reply"
	both := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 3, reply, second, asked))
	if c := both[2].Contact; c.State != weir.Sending {
		t.Errorf("replies in the same batch count: %+v", c.Progress)
	}
	for to, n := range map[string]int{"+15550008": 2, "+15550009": 1, "+15550010": 0} { // without replies and what certainly did not go out
		if list := must[[]people.Entry](t)(b.Contacted(b.ctx(), people.Canonical(to), now())); len(list) != n || n > 0 && list[0].Purpose != "research" {
			t.Errorf("%s was contacted %+v, want %d times", to, list, n)
		}
	}
	got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, smsFor("research", "5")))
	if c := got[0].Contact; c.State != weir.Delayed || c.Receipt.Rule != "cap" {
		t.Errorf("a contact beyond the cap that is claimed as it is accepted is %+v", c.Progress)
	}
	if n := must[int](t)(b.PurgeHistory(b.ctx(), now().Add(6*24*time.Hour), 100)); n != 0 {
		t.Errorf("%d entries that matter were purged", n)
	}
	if n := must[int](t)(b.PurgeHistory(b.ctx(), now().Add(60*24*time.Hour), 1)); n != 1 {
		t.Errorf("%d entries of 1 were purged", n)
	}
}

// testLongerCap: a cap that is made longer counts the contacts of its new time, up to a month, also those
// from before the purge of what the old one looked at.
func testLongerCap(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("research", people.Purpose{Caps: []people.Cap{{Max: 1, Within: "1h"}}})
	id, lease := b.owned("a")
	list := b.accept(id, smsFor("research", "1"), smsFor("research", "2"))
	b.claimed(lease, list[0])
	if n := must[int](t)(b.PurgeHistory(b.ctx(), now().Add(30*24*time.Hour), 100)); n != 0 {
		t.Errorf("%d entries of the last month were purged", n)
	}
	b.purpose("research", people.Purpose{Caps: []people.Cap{{Max: 1, Within: "30d"}}})
	if c := b.claimed(lease, list[1]); c.Receipt.Rule != string(people.RuleCap) {
		t.Errorf("beyond the longer cap: %+v", c.Progress)
	}
}

// testRulesPutBack: what certainly did not go out does not count for a rule either that was not there as
// it came back, and is put back later.
func testRulesPutBack(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	capped := people.Purpose{Caps: []people.Cap{{Max: 1, Within: "7d"}}}
	b.purpose("research", capped)
	id, lease := b.owned("a")
	c := b.claimed(lease, b.accept(id, smsFor("research", "1"))[0])
	b.purpose("research", people.Purpose{})
	b.commitAll(lease, requeue(c, now(), time.Time{}))
	b.purpose("research", capped)
	again, _ := b.read(c.Ref)
	if got := b.claimed(lease, again); got.State != weir.Sending {
		t.Errorf("after a claim of which nothing went out: %+v", got.Progress)
	}
}

// testRetractedClaim: a claim that is retracted in the batch that commits it has cost nothing and
// counts for nothing, whatever the batch does with the contact before.
func testRetractedClaim(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("research", people.Purpose{Caps: []people.Cap{{Max: 1, Within: "7d"}}})
	b.ok(b.PutPrice(b.ctx(), "a", usd("1")))
	b.ok(b.PutLimit(b.ctx(), "purse", &limits.Limit{Channels: []string{"a"}, Currency: "USD", MoneyPerDay: "100", NewPeoplePerDay: 10}, document.Condition{}))
	id, lease := b.owned("a")
	later := smsFor("research", "2")
	later.NotBefore, later.To = now().Add(time.Hour), "+15550002"
	for _, c := range b.accept(id, smsFor("research", "1"), later) {
		var list []weir.Transition
		step := func(tr weir.Transition) { list, c = append(list, tr), tr.Contact }
		if c.State == weir.Delayed {
			p, err := c.Ready()
			step(to(c, p, err))
		}
		step(claim(c, now()))
		p, err := c.Unclaim()
		step(to(c, p, err))
		b.commitAll(lease, list...)
		if use := b.LimitUse()["purse"]; use.Spent != 0 || use.NewPeople != 0 {
			t.Errorf("after %d transitions %s is spent, and %d people count", len(list), use.Spent, use.NewPeople)
		}
		if again, _ := b.read(c.Ref); b.claimed(lease, again).State != weir.Sending {
			t.Errorf("after %d transitions it is capped", len(list))
		}
		c, _ = b.read(c.Ref)
		p, err = c.Unclaim()
		b.commitAll(lease, to(c, p, err))
	}
}

// testRepeatedText: the same text to the same address ends as suppressed, unless the contact
// itself is tried again.
func testRepeatedText(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("research", people.Purpose{RepeatGuard: "24h"})
	id, lease := b.owned("a")
	other := smsFor("research", "3")
	other.Messages = []string{"something else"}
	list := b.accept(id, smsFor("research", "1"), smsFor("research", "2"), other)
	both := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{claim(list[0], now()), claim(list[1], now()), claim(list[2], now())}})
	if both.Err != nil || len(both.Judged) != 3 {
		t.Fatalf("the claims: %+v", both)
	}
	if got, _ := b.read(list[1].Ref); got.Outcome != weir.Suppressed || got.Receipt.Rule != "repeat_guard" {
		t.Errorf("the same text in the same batch: %+v", got.Progress)
	}
	if got, _ := b.read(list[2].Ref); got.State != weir.Sending {
		t.Errorf("another text: %+v", got.Progress)
	}
	first, _ := b.read(list[0].Ref)
	p, err := first.MarkUnknown("lost")
	b.commitAll(lease, to(first, p, err))
	first, _ = b.read(list[0].Ref)
	b.commitAll(lease, requeue(first, now(), time.Time{}))
	first, attempts := b.read(list[0].Ref)
	if len(attempts) != 1 || attempts[0].Receipt.Facts == "" {
		t.Errorf("the ended attempt has no receipt: %+v", attempts)
	}
	if first = b.claimed(lease, first); first.State != weir.Sending || first.Attempt != 2 {
		t.Errorf("the contact itself, again: %+v", first.Progress)
	}
}

// testLongHistory: of a long history the store reads what decides. Verdicts are those of the whole
// history, also in a batch with other people, and for the first claim after a start.
func testLongHistory(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("p", people.Purpose{Caps: []people.Cap{{Max: 500, Within: "7d", Over: people.OverAll}}})
	_, lease := b.owned("a")
	var specs []weir.Spec
	for i := range 200 {
		s := smsFor([]string{"often", "often", "often", "rare"}[i%4], fmt.Sprint("long ", i))
		s.Messages = []string{fmt.Sprint("text ", min(i, 20))}
		if i%50 == 0 {
			s.Priority = weir.Reply
		}
		specs = append(specs, s)
	}
	var whole []people.Entry
	for _, a := range must[[]weir.Accepted](t)(b.acceptClaimed(lease, len(specs), specs...)) {
		if c := a.Contact; c.Spec.Priority != weir.Reply {
			whole = append(whole, people.Entry{At: c.ClaimedAt, Purpose: c.Purpose, Contact: c.Ref, Text: people.TextOf(c.Messages)})
		}
	}
	days := func(most int, of people.Over) people.Cap { return people.Cap{Max: most, Within: "3d", Over: of} }
	for i, p := range []people.Purpose{
		{Caps: []people.Cap{days(3, people.OverAll)}}, {Caps: []people.Cap{days(3, "")}}, {Caps: []people.Cap{days(40, "")}}, {Caps: []people.Cap{days(50, ""), days(60, people.OverAll)}},
		{Caps: []people.Cap{days(196, people.OverAll)}}, {Caps: []people.Cap{days(197, people.OverAll)}}, {Caps: []people.Cap{{Max: 2, Within: "2d", Kind: people.Calendar}}},
		{RepeatGuard: "1d"}, {RepeatGuard: "1d", Caps: []people.Cap{days(5, people.OverAll)}},
		{Caps: []people.Cap{days(60, ""), days(230, people.OverAll)}}, // an entry that is read for both counts once
	} {
		b.ok(b.OpenPeople(b.ctx(), nil))
		for _, text := range []string{"text 3", "text 20", "new"} {
			b.purpose("rare", p)
			c := smsFor("rare", fmt.Sprint(i, text))
			c.Messages, c.TimeZone = []string{text}, "UTC"
			other := smsFor("rare", fmt.Sprint("other ", i, text))
			other.To, other.Messages = fmt.Sprintf("+155512%05d", 100*i+len(text)), c.Messages
			got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 2, c, other))
			compiled, _ := p.Compile()
			claim := &people.Claim{Name: "rare", Purpose: compiled, Zones: []*time.Location{time.UTC}, Before: whole, Text: people.TextOf(c.Messages), Contact: got[0].Contact.Ref}
			want, is := people.Judge(claim, now()), got[0].Contact
			if is.Receipt.Rule != want.Rule || !want.Due.IsZero() && !is.DueAt.Equal(want.Due) {
				t.Errorf("purpose %d, %s: %+v, want %+v", i, text, is.Progress, want)
			}
			if got[1].Contact.State != weir.Sending {
				t.Errorf("purpose %d, %s: another person's contact is %+v", i, text, got[1].Contact.Progress)
			}
			if is.State == weir.Sending {
				b.commitAll(lease, requeue(is, now(), now().Add(24*time.Hour)))
			}
		}
	}
}

// testRecordedConsent: where a consent has to be recorded, nobody else is contacted.
func testRecordedConsent(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("marketing", people.Purpose{Consent: people.IfRecorded})
	b.purpose("emergency", people.Purpose{ExemptFrom: []people.Rule{people.RuleConsent}, ExemptReason: "floods"})
	id, lease := b.owned("a")
	list := b.accept(id, smsFor("marketing", "1"), smsFor("marketing", "2"), smsFor("emergency", "3"))
	if c := b.claimed(lease, list[0]); c.Outcome != weir.Suppressed || c.Receipt.Rule != "no_consent" {
		t.Errorf("without a consent it is %+v", c.Progress)
	}
	b.says("+15550001", people.Given)
	if c := b.claimed(lease, list[1]); c.State != weir.Sending {
		t.Errorf("with a consent it is %+v", c.Progress)
	}
	b.says("+15550001", people.Refused)
	if c := b.claimed(lease, list[2]); c.State != weir.Sending {
		t.Errorf("an exempt contact to somebody who refused is %+v", c.Progress)
	}
}

// testReceipts: a receipt is stored with the claim, in whatever state the contact is read.
func testReceipts(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	quiet := now().UTC().Add(6 * time.Hour)
	b.purpose("research", people.Purpose{QuietHours: &people.Hours{From: quiet.Format("15:04"), To: quiet.Add(time.Hour).Format("15:04")}})
	id, lease := b.owned("a")
	spec := smsFor("research", "1")
	spec.TimeZone = "UTC"
	c := b.accept(id, spec)[0]
	r := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{claim(c, now())}})
	if r.Err != nil || len(r.Judged) != 1 {
		t.Fatalf("the claim: %+v", r)
	}
	got, _ := b.read(c.Ref)
	same(t, "the contact in flight", got, r.Judged[0])
	if want := quiet.Truncate(time.Minute); !got.Receipt.Until.Equal(want) {
		t.Errorf("it may be dispatched until %v, want %v", got.Receipt.Until, want)
	}
	b.commitAll(lease, finish(got, now(), weir.Completed))
	done, _ := b.read(c.Ref)
	if done.Receipt != got.Receipt || done.Purpose != "research" || done.TimeZone != "UTC" {
		t.Errorf("when it is done: %+v", done)
	}
}

// testLateClaims: a claim that is committed hours after it was made, because the database was
// down, is judged by the hour of the commit.
func testLateClaims(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	at := now().UTC()
	b.purpose("research", people.Purpose{QuietHours: &people.Hours{From: at.Add(-time.Hour).Format("15:04"), To: at.Add(2 * time.Hour).Format("15:04")}})
	id, lease := b.owned("a")
	spec := smsFor("research", "1")
	spec.TimeZone = "UTC"
	c := b.accept(id, spec)[0]
	r := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{claim(c, at.Add(-6*time.Hour))}})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if got, _ := b.read(c.Ref); got.State != weir.Delayed || got.Receipt.Rule != string(people.RuleHours) {
		t.Errorf("claimed by day, committed in quiet hours: %+v", got.Progress)
	}
}

// testCapsRace: whoever claims at one time, in however many changes and channels, and however
// often claims are undone: a cap is never exceeded.
func testCapsRace(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	rounds := 0
	rapid.Check(t, func(rt *rapid.T) {
		rounds++
		most := rapid.IntRange(1, 5).Draw(rt, "cap")
		purpose := fmt.Sprintf("p%d", rounds)
		compiled, _ := (&people.Purpose{Caps: []people.Cap{{Max: most, Within: "1h"}}}).Compile()
		if rounds > people.MaxPurposes { // one of many that may exist
			purpose = "p1"
			most = b.Purposes()[purpose].Caps[0].Max
		} else {
			b.ok(b.PutPurpose(b.ctx(), purpose, compiled, document.Condition{}))
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		passed := 0
		for side := range 2 {
			id, lease := b.owned(fmt.Sprintf("c%d-%d", rounds, side))
			n := rapid.IntRange(1, 6).Draw(rt, "contacts")
			list := make([]weir.Spec, n)
			for i := range list {
				list[i] = smsFor(purpose, fmt.Sprintf("%d-%d-%d", rounds, side, i))
				list[i].To = fmt.Sprintf("+1777%07d", rounds)
			}
			waiting := b.accept(id, list...)
			undo := rapid.IntRange(0, n).Draw(rt, "undone")
			all.Go(func() {
				for i, c := range waiting {
					r := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{claim(c, now())}})
					if r.Err != nil || len(r.Judged) != 1 {
						rt.Errorf("a claim: %+v", r)
						return
					}
					if !r.Judged[0].State.InFlight() {
						continue
					}
					if i < undo {
						p, err := r.Judged[0].Unclaim()
						b.commitAll(lease, to(r.Judged[0], p, err))
						continue
					}
					mu.Lock()
					passed++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if passed > most {
			rt.Errorf("%d contacts of one person passed a cap of %d", passed, most)
		}
	})
}

// testLimits: channels that share a limit have no more in flight than it allows; a claim beyond
// is undone, the contact stays where it was, and nothing is written.
func testLimits(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutLimit(b.ctx(), "account", &limits.Limit{Channels: []string{"a", "b", "gone"}, InFlight: 3}, document.Condition{}))
	a, byA := b.owned("a")
	other, byB := b.owned("b")
	free, byFree := b.owned("c")
	list := b.accept(a, sms("1"), sms("2"))
	b.commitAll(byA, claim(list[0], now()), claim(list[1], now()))
	got := must[[]weir.Accepted](t)(b.acceptClaimed(byB, 2, sms("1"), sms("2"), sms("3")))
	if got[0].Contact.State != weir.Sending || got[1].Contact.State != weir.Queued || got[1].Contact.Attempt != 0 {
		t.Fatalf("accepted with room for one: %+v, %+v", got[0].Contact.Progress, got[1].Contact.Progress)
	}
	b.wantQueued(other, 2)
	waiting := got[1].Contact
	r := b.commit(weir.Change{By: byB, Transitions: []weir.Transition{claim(waiting, now())}})
	if r.Err != nil || len(r.Stale) > 0 || len(r.Judged) != 1 || r.Judged[0].State != weir.Queued || !r.Judged[0].Receipt.Until.After(now()) {
		t.Fatalf("a claim beyond the limit: %+v", r)
	}
	stored, attempts := b.read(waiting.Ref)
	if stored.Progress != waiting.Progress || len(attempts) > 0 {
		t.Errorf("a contact whose claim was undone is %+v, want %+v", stored.Progress, waiting.Progress)
	}
	back := r.Judged[0]
	back.Receipt, back.Reason = weir.Receipt{}, ""
	same(t, "the contact of the claim that was undone", back, stored)
	if c := must[[]weir.Accepted](t)(b.acceptClaimed(byFree, 1, sms("1")))[0].Contact; c.State != weir.Sending {
		t.Errorf("a channel without the limit: %+v", c.Progress)
	}
	b.wantQueued(free, 0)
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start
	if r := b.commit(weir.Change{By: byB, Transitions: []weir.Transition{claim(waiting, now())}}); len(r.Judged) != 1 {
		t.Errorf("a claim beyond the limit after a start: %+v", r)
	}
	first, _ := b.read(list[0].Ref)
	b.commitAll(byA, finish(first, now(), weir.Completed))
	if use := b.LimitUse()["account"]; use.InFlightNow != 2 {
		t.Errorf("in use: %+v", use)
	}
	if c := b.claimed(byB, waiting); c.State != weir.Sending {
		t.Errorf("when there is room: %+v", c.Progress)
	}
	b.ok(b.DeleteLimit(b.ctx(), "account"))
	last, _ := b.read(got[2].Contact.Ref)
	if c := b.claimed(byB, last); c.State != weir.Sending {
		t.Errorf("without the limit: %+v", c.Progress)
	}
}

// testNewPeople: in 24 hours the channels of a limit contact no more new people than it allows;
// whoever was contacted is not new, and whoever was certainly not reached does not count.
func testNewPeople(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutLimit(b.ctx(), "portfolio", &limits.Limit{Channels: []string{"a", "b"}, NewPeoplePerDay: 2}, document.Condition{}))
	a, byA := b.owned("a")
	_, byB := b.owned("b")
	to := func(key, number string) weir.Spec {
		s := sms(key)
		s.To = number
		return s
	}
	list := b.accept(a, to("1", "+15550001"), to("2", "+15550002"), to("3", "+15550001"), to("4", "+15550003"))
	first, second := b.claimed(byA, list[0]), b.claimed(byA, list[1])
	if c := b.claimed(byA, list[2]); c.State != weir.Sending {
		t.Errorf("a person who is not new: %+v", c.Progress)
	}
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start: it is read again
	if use := b.LimitUse()["portfolio"]; use.NewPeople != 2 || use.InFlightNow != 3 {
		t.Errorf("after a start: %+v", use)
	}
	b.ok(b.PutLimit(b.ctx(), "portfolio", &limits.Limit{Channels: []string{"a", "b"}, NewPeoplePerDay: 2}, document.Condition{}))
	over := must[[]weir.Accepted](t)(b.acceptClaimed(byB, 1, to("5", "+15550003")))[0].Contact
	if over.State != weir.Delayed || over.Receipt.Rule != "limit_new_people" || over.DueAt.Before(first.ClaimedAt.Add(23*time.Hour)) {
		t.Errorf("a third person over another channel: %+v", over.Progress)
	}
	b.commitAll(byA, requeue(second, now(), time.Time{})) // it certainly did not go out
	if use := b.LimitUse()["portfolio"]; use.NewPeople != 1 {
		t.Errorf("%d people count", use.NewPeople)
	}
	if _, err := b.acceptClaimed(byA, 1, to("1", "+15550004")); weir.CodeOf(err) != weir.CodeKeyReused {
		t.Errorf("a key in use for somebody else: %v", err)
	}
	if use := b.LimitUse()["portfolio"]; use.NewPeople != 1 {
		t.Errorf("after a request that was refused %d people count", use.NewPeople)
	}
	if c := b.claimed(byA, list[3]); c.State != weir.Sending {
		t.Errorf("in the place of whoever was not reached: %+v", c.Progress)
	}
}

// testReplies: a reply counts as a contact of a new person, also after a start, until it is known that it did not go out. It is
// none of the entries that claims read, of which a person may have any number.
func testReplies(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("research", people.Purpose{Caps: []people.Cap{{Max: 1, Within: "7d", Over: people.OverAll}}})
	b.ok(b.PutLimit(b.ctx(), "portfolio", &limits.Limit{Channels: []string{"a"}, NewPeoplePerDay: 9}, document.Condition{}))
	_, lease := b.owned("a")
	var replies []weir.Spec
	for i := range 40 {
		s := sms(fmt.Sprint("reply ", i))
		s.Priority = weir.Reply
		if i == 39 {
			s.To = "+15550002"
		}
		replies = append(replies, s)
	}
	got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, len(replies), replies...))
	wantPeople := func(want int) {
		t.Helper()
		if use := b.LimitUse()["portfolio"]; use.NewPeople != want {
			t.Errorf("%d people count, want %d", use.NewPeople, want)
		}
	}
	rows := func(table string) (n int) {
		t.Helper()
		b.ok(b.db.Pools().Write.QueryRowContext(b.ctx(), "SELECT COUNT(*) FROM "+table).Scan(&n))
		return n
	}
	wantPeople(2)
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start: it is read again
	wantPeople(2)
	b.commitAll(lease, requeue(got[39].Contact, now(), time.Time{}))
	b.ok(b.OpenPeople(b.ctx(), nil))
	wantPeople(1)
	if c := b.claimed(lease, b.accept(lease.Channel, smsFor("research", "asked"))[0]); c.State != weir.Sending {
		t.Errorf("replies count for a cap: %+v", c.Progress)
	}
	if contacts, answers := rows("person_contacts"), rows("person_replies"); contacts != 1 || answers != 39 {
		t.Errorf("a claim reads %d entries, and %d are of replies", contacts, answers)
	}
	for range 2 {
		must[int](t)(b.PurgeHistory(b.ctx(), now().Add(60*24*time.Hour), 100))
	}
	if n := rows("person_replies"); n != 0 {
		t.Errorf("%d replies are never purged", n)
	}
}

// testOneNewPerson: a limit of one person a day has a history of its channels, and of no others.
func testOneNewPerson(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutLimit(b.ctx(), "one", &limits.Limit{Channels: []string{"a"}, NewPeoplePerDay: 1}, document.Condition{}))
	b.ok(b.PutLimit(b.ctx(), "account", &limits.Limit{Channels: []string{"a", "b"}, InFlight: 9}, document.Condition{}))
	_, byA := b.owned("a")
	_, byB := b.owned("b")
	other := sms("2")
	other.To = "+15550002"
	must[[]weir.Accepted](t)(b.acceptClaimed(byB, 1, sms("1")))
	must[[]weir.Accepted](t)(b.acceptClaimed(byA, 1, sms("1")))
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start
	if c := must[[]weir.Accepted](t)(b.acceptClaimed(byA, 1, other))[0].Contact; c.Receipt.Rule != limits.RuleNewPeople {
		t.Errorf("a second person after a start: %+v", c.Progress)
	}
	var rows int
	b.ok(b.db.Pools().Read.QueryRowContext(b.ctx(), "SELECT COUNT(*) FROM person_contacts").Scan(&rows))
	if rows != 1 {
		t.Errorf("%d contacts are kept, want the one that a limit counts", rows)
	}
}

// usd is a price per text message.
func usd(amount string) *limits.Price { return &limits.Price{Currency: "USD", PerSegment: amount} }

// testMoney: a claim counts what it reserves, its end what it has cost, and what certainly did not go out costs
// nothing; also after a start. A claim beyond a limit is undone.
func testMoney(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutPrice(b.ctx(), "a", usd("1")))
	b.ok(b.PutPrice(b.ctx(), "b", usd("0.5")))
	b.ok(b.PutLimit(b.ctx(), "purse", &limits.Limit{Channels: []string{"a", "b"}, Currency: "USD", MoneyPerDay: "3.5", MoneyPerMonth: "30"}, document.Condition{}))
	wantSpent := func(want string) {
		t.Helper()
		if use := b.LimitUse()["purse"]; use.Today.String() != want || use.Month != use.Today || use.Spent != use.Today {
			t.Errorf("spent %s, %s and %s, want %s", use.Today, use.Month, use.Spent, want)
		}
		b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start
		if use := b.LimitUse()["purse"]; use.Today.String() != want {
			t.Errorf("spent %s after a start, want %s", use.Today, want)
		}
		var sum limits.Money
		for _, x := range must[[]limits.Spending](t)(b.Spending(b.ctx(), 0, weir.DayOf(now()), nil, 100)) {
			sum += x.Amount
		}
		if sum.String() != want {
			t.Errorf("%s in the list, want %s", sum, want)
		}
	}
	a, byA := b.owned("a")
	_, byB := b.owned("b")
	list := b.accept(a, sms("1"), sms("2"), sms("3"))
	first, second, third := b.claimed(byA, list[0]), b.claimed(byA, list[1]), b.claimed(byA, list[2])
	wantSpent("3.00")
	got := must[[]weir.Accepted](t)(b.acceptClaimed(byB, 2, sms("1"), sms("2")))
	if got[0].Contact.State != weir.Sending || got[1].Contact.State != weir.Queued || got[1].Contact.Attempt != 0 {
		t.Fatalf("accepted with money for one: %+v, %+v", got[0].Contact.Progress, got[1].Contact.Progress)
	}
	wantSpent("3.50")
	waiting := got[1].Contact
	r := b.commit(weir.Change{By: byB, Transitions: []weir.Transition{claim(waiting, now())}})
	if r.Err != nil || len(r.Judged) != 1 || r.Judged[0].State != weir.Queued || r.Judged[0].Receipt.Rule != "limit_money" {
		t.Fatalf("a claim beyond the limit: %+v", r)
	}
	b.commitAll(byA, requeue(first, now(), time.Time{})) // it certainly did not go out
	wantSpent("2.50")
	again := b.claimed(byB, waiting)
	if again.State != weir.Sending {
		t.Errorf("in its place: %+v", again.Progress)
	}
	wantSpent("3.00")
	resent := requeue(again, now(), time.Time{})
	resent.Ended.Outcome = weir.Lost // it may have gone out
	b.commitAll(byB, resent)
	wantSpent("3.00")
	end := finish(second, now(), weir.Completed)
	end.Result.Cost = weir.Cost{Millionths: 250_000, Currency: "USD"}
	b.commitAll(byA, end)
	wantSpent("2.25")
	stored, _ := b.read(second.Ref)
	if f, ok := people.ReadFacts(stored.Receipt); !ok || f.Cost.String() != "0.25" || !f.Settled {
		t.Errorf("the receipt of a contact that ended: %+v, %v", f, ok)
	}
	b.commitAll(byA, finish(third, now(), weir.Failed)) // refused while it was sent
	wantSpent("1.25")
	for what, err := range map[string]error{
		"a price in another currency": b.PutPrice(b.ctx(), "a", &limits.Price{Currency: "EUR", PerSegment: "1"}), "no price": b.DeletePrice(b.ctx(), "b"),
		"a dry run of another currency": b.CheckPrice(b.ctx(), "a", &limits.Price{Currency: "EUR", PerSegment: "1"}),
	} {
		if weir.CodeOf(err) != weir.CodeConflict {
			t.Errorf("%s while a limit counts it: %v", what, err)
		}
	}
	b.ok(b.CheckPrice(b.ctx(), "a", usd("7")))
	b.ok(b.CheckPrice(b.ctx(), "c", usd("7")))
	b.ok(b.CheckLimit(b.ctx(), "purse", &limits.Limit{Channels: []string{"a"}, InFlight: 1}, document.Condition{}))
	b.ok(b.CheckLimit(b.ctx(), "other", &limits.Limit{Channels: []string{"a"}, InFlight: 1}, document.Condition{}))
	b.ok(b.CheckPurpose(b.ctx(), "other", &people.Purpose{}, document.Condition{}))
	if limits, purposes := b.Limits(), b.Purposes(); len(limits) != 1 || limits["purse"].InFlight != 0 || purposes["other"] != nil {
		t.Errorf("dry runs have changed something: %+v, %+v", limits, purposes)
	}
	b.ok(b.DeleteLimit(b.ctx(), "purse"))
	b.ok(b.DeletePrice(b.ctx(), "b"))
	if prices := b.Prices(); len(prices) != 1 || prices["a"].PerSegment != "1" {
		t.Errorf("prices: %+v", prices)
	}
	if err := b.DeletePrice(b.ctx(), "b"); weir.CodeOf(err) != weir.CodeNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// testDeletedPrice: a contact whose price is deleted while it is in flight costs what was reserved.
func testDeletedPrice(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutPrice(b.ctx(), "a", usd("1")))
	_, by := b.owned("a")
	c := must[[]weir.Accepted](t)(b.acceptClaimed(by, 1, sms("1")))[0].Contact
	b.ok(b.DeletePrice(b.ctx(), "a"))
	b.commitAll(by, finish(c, now(), weir.Completed))
	list := must[[]limits.Spending](t)(b.Spending(b.ctx(), 0, weir.DayOf(now()), nil, 9))
	if len(list) != 1 || list[0].Amount.String() != "1.00" {
		t.Errorf("spent: %+v", list)
	}
	stored, _ := b.read(c.Ref)
	if f, ok := people.ReadFacts(stored.Receipt); !ok || f.Cost.String() != "1.00" || !f.Settled {
		t.Errorf("the receipt: %+v, %v", f, ok)
	}
}

// testBudgetsAtStart: at a start the budgets of surveys are read, with what was spent of each, also
// if there is one alone.
func testBudgetsAtStart(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutPrice(b.ctx(), "a", usd("1")))
	_, by := b.owned("a")
	budgets := map[string]*limits.SurveyBudget{}
	b.Connect(b.InFlightNow, nil, func(context.Context) (map[string]*limits.SurveyBudget, error) { return budgets, nil })
	of := func(key, survey string) weir.Spec {
		s := sms(key)
		s.Survey = survey
		return s
	}
	must[[]weir.Accepted](t)(b.acceptClaimed(by, 3, of("1", "s"), of("2", "t"), of("3", "t")))
	for i, name := range []string{"s", "t"} {
		budgets[name] = &limits.SurveyBudget{Budget: limits.Budget{Currency: "USD", Money: fmt.Sprint(i + 1)}, Channels: map[string]string{"/channel": "a"}}
		b.ok(b.OpenPeople(b.ctx(), nil))
		for j, survey := range []string{"s", "t"}[:i+1] {
			if use, ok := b.BudgetUse(survey); !ok || use.Spent.String() != fmt.Sprintf("%d.00", j+1) {
				t.Errorf("of %d budgets that of %s is %+v, %v", i+1, survey, use, ok)
			}
		}
		if c := must[[]weir.Accepted](t)(b.acceptClaimed(by, 1, of("beyond "+name, name)))[0].Contact; c.Receipt.Rule != limits.RuleBudget {
			t.Errorf("beyond the budget of %s: %+v", name, c.Progress)
		}
	}
}

// testBudgets: contacts of a survey whose money is spent wait, each alone; those of others do not.
func testBudgets(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.ok(b.PutPrice(b.ctx(), "a", usd("1")))
	b.ok(b.PutLimit(b.ctx(), "budget", &limits.Limit{Surveys: []string{"s"}, Currency: "USD", Money: "1.5"}, document.Condition{}))
	_, by := b.owned("a")
	of := func(key, survey string) weir.Spec {
		s := sms(key)
		s.Survey = survey
		return s
	}
	got := must[[]weir.Accepted](t)(b.acceptClaimed(by, 3, of("1", "s"), of("2", "s"), of("3", "other")))
	if got[0].Contact.State != weir.Sending || got[2].Contact.State != weir.Sending {
		t.Fatalf("within the budget: %+v; of another survey: %+v", got[0].Contact.Progress, got[2].Contact.Progress)
	}
	over := got[1].Contact
	if over.State != weir.Delayed || over.Receipt.Rule != "limit_money" || over.DueAt.After(now().Add(16*time.Minute)) {
		t.Fatalf("beyond it: %+v", over.Progress)
	}
	if want := "limit budget: 1.00 of 1.50 USD spent, and a contact for 1.00 more would exceed it"; over.Reason != want {
		t.Errorf("why: %q, want %q", over.Reason, want)
	}
	b.ok(b.PutLimit(b.ctx(), "budget", &limits.Limit{Surveys: []string{"s"}, Currency: "USD", Money: "2"}, document.Condition{}))
	over = must[[]weir.Accepted](t)(b.acceptClaimed(by, 1, of("4", "s")))[0].Contact
	if over.State != weir.Sending {
		t.Errorf("with more money: %+v", over.Progress)
	}
	if use := b.LimitUse()["budget"]; use.Spent.String() != "2.00" {
		t.Errorf("spent: %+v", use)
	}
	today := weir.DayOf(now())
	skipped := must[[]people.Skipped](t)(b.Skipped(b.ctx(), people.SkippedFilter{From: today - 1, To: today, Survey: "s"}, 10))
	if len(skipped) != 1 || skipped[0].Rule != limits.RuleMoney || skipped[0].Delayed != 1 || skipped[0].Suppressed != 0 {
		t.Errorf("skipped: %+v", skipped)
	}
	if none := must[[]people.Skipped](t)(b.Skipped(b.ctx(), people.SkippedFilter{From: today - 1, To: today, Survey: "other"}, 10)); len(none) > 0 {
		t.Errorf("skipped of another survey: %+v", none)
	}
	list := must[[]limits.Spending](t)(b.Spending(b.ctx(), 0, today+1, nil, 1))
	more := must[[]limits.Spending](t)(b.Spending(b.ctx(), 0, today+1, &list[0], 9))
	if len(list) != 1 || list[0].Survey != "other" || list[0].Amount.String() != "1.00" || len(more) != 1 || more[0].Survey != "s" || more[0].Amount.String() != "2.00" {
		t.Errorf("in two pages: %+v, %+v", list, more)
	}
}

// testTwoNotations: for caps, the guard against repetitions and limits of new people, a person is one,
// whichever notation of the number contacts have: in one batch, in the next one, and after a start.
func testTwoNotations(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	b.purpose("guarded", people.Purpose{RepeatGuard: "1d"})
	pairs := [][2]string{{"+254722000101", "254722000101"}, {"Chat-1@example.org", "chat-1@EXAMPLE.org"}}
	for i, r := range phonenumber.Renumberings() {
		old, today := r.Example()
		pairs = append(pairs, [][2]string{{old, today}, {today, old}}[i%2])
	}
	for n, when := range []string{"in one batch", "in the next", "after a start"} {
		capped := fmt.Sprint("capped-", n)
		b.purpose(capped, people.Purpose{Caps: []people.Cap{{Max: 1, Within: "7d"}}})
		for i, pair := range pairs {
			name := fmt.Sprint("channel-", n, "-", i)
			_, lease := b.owned(name)
			b.ok(b.PutLimit(b.ctx(), name, &limits.Limit{Channels: []string{name}, NewPeoplePerDay: 1}, document.Condition{}))
			// For a contact without a purpose the limit alone counts.
			for purpose, want := range map[string]people.Rule{capped: people.RuleCap, "guarded": people.RuleRepeat, "": ""} {
				var specs []weir.Spec
				for _, to := range pair {
					s := smsFor(purpose, purpose+" "+name+" "+to)
					s.To, s.Messages = to, []string{purpose + " " + name}
					specs = append(specs, s)
				}
				var got []weir.Accepted
				if n == 0 {
					got = must[[]weir.Accepted](t)(b.acceptClaimed(lease, 2, specs...))
				} else {
					got = must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, specs[0]))
					if n == 2 {
						b.ok(b.OpenPeople(b.ctx(), nil))
					}
					got = append(got, must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, specs[1]))...)
				}
				one, other := got[0].Contact, got[1].Contact
				if one.State != weir.Sending || (want == "") != (other.State == weir.Sending) || want != "" && other.Receipt.Rule != string(want) {
					t.Errorf("%s %s, for the purpose %q: %+v, and %+v; the rule of the second should be %q", pair, when, purpose, one.Progress, other.Progress, want)
				}
			}
		}
	}
}
