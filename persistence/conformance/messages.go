package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/people"
)

func messageTopics() []topic {
	return []topic{
		{"answers to messages", testAnswers},
		{"confirmations of refusals", testConfirmations},
		{"confirmations are none that a client makes", testConfirmationIsNotTaken},
		{"answers to the same person at once", testAnswersRace},
		{"answers to forged senders", testForgedSenders},
		{"answers to people who were contacted", testContactedAreNoStrangers},
		{"messages that may be refusals", testUndecided},
		{"when a message was received", testReceivedAt},
	}
}

// heard is a message over a channel.
func heard(id weir.ChannelID, key string, said people.Said, text string) *people.Message {
	return &people.Message{Key: key, From: "tel:+15550001", Text: text, At: now(), Channel: id, Name: "a", Said: said, ReplyTo: "+15550001"}
}

func (b *bench) hear(m *people.Message) []weir.Contact {
	b.t.Helper()
	return must[[]weir.Contact](b.t)(b.Hear(b.ctx(), m))
}

// testAnswers: a person who asks for help gets one answer in a day, whatever is repeated.
func testAnswers(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	if got := b.hear(heard(id, "0", people.SaidHelp, "help")); len(got) != 0 {
		t.Errorf("without a text: %+v", got)
	}
	b.purpose(people.DefaultPurpose, people.Purpose{Help: "We are Wéir."})
	got := b.hear(heard(id, "1", people.SaidHelp, "help"))
	if len(got) != 1 {
		t.Fatalf("answers: %+v", got)
	}
	stored, _ := b.read(got[0].Ref)
	same(t, "the answer", stored, got[0])
	if stored.To != "+15550001" || stored.Priority != weir.Reply || stored.Purpose != "" || stored.Messages[0] != "We are Wéir." || stored.Owner != (weir.Owner{}) || stored.State != weir.Queued {
		t.Errorf("the answer is %+v", stored)
	}
	b.wantQueued(id, 1)
	again, other, gone := heard(id, "1", people.SaidHelp, "help"), heard(id, "2", people.SaidHelp, "info"), heard(999, "3", people.SaidHelp, "info")
	gone.From = "tel:+15550009"
	for _, m := range []*people.Message{again, other, gone} {
		if got := b.hear(m); len(got) != 0 {
			t.Errorf("%s: another answer %+v", m.Key, got)
		}
	}
	b.wantQueued(id, 1)
	if c := b.claimed(lease, stored); c.State != weir.Sending {
		t.Errorf("the claim: %+v", c.Progress)
	}
	if _, history, err := b.Consents(b.ctx(), "tel:+15550001", 10); err != nil || len(history) > 0 {
		t.Errorf("it is recorded: %+v (%v)", history, err)
	}
	// Whoever has refused has not agreed to anything by asking.
	b.says("+15550002", people.Refused)
	theirs := heard(id, "4", people.SaidHelp, "help")
	theirs.From, theirs.ReplyTo = "tel:+15550002", "+15550002"
	if c := b.claimed(lease, b.hear(theirs)[0]); c.Outcome != weir.Suppressed {
		t.Errorf("to whoever refused: %+v", c.Progress)
	}
	if n := must[int](t)(b.PurgeHistory(b.ctx(), now().Add(60*24*time.Hour), 100)); n != 2 {
		t.Errorf("%d purged", n)
	}
}

// testConfirmations: a refusal is recorded and confirmed together, once, and the confirmation
// alone passes despite it.
func testConfirmations(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	b.purpose("research", people.Purpose{Confirmation: "You are out."})
	stop := heard(id, "1", people.SaidStop, "STOP")
	stop.Purpose = "research"
	got := b.hear(stop)
	_, history, err := b.Consents(b.ctx(), stop.From, 10)
	b.ok(err)
	if len(got) != 1 || len(history) != 1 || got[0].Owner.Confirms() != history[0].ID || got[0].Purpose != "research" || history[0].Words != "STOP" || history[0].By != "a" {
		t.Fatalf("%+v, recorded %+v", got, history)
	}
	for _, key := range []string{"1", "2"} { // repeated by the provider, and by the person
		stop.Key = key
		if more := b.hear(stop); len(more) != 0 {
			t.Errorf("%s: %+v", key, more)
		}
	}
	waits := sms("waits")
	waits.Priority = weir.Reply
	if c := b.claimed(lease, b.accept(id, waits)[0]); c.Outcome != weir.Suppressed {
		t.Errorf("an ordinary reply: %+v", c.Progress)
	}
	c := b.claimed(lease, got[0])
	if c.State != weir.Sending {
		t.Fatalf("the confirmation: %+v", c.Progress)
	}
	// One that failed is not queued again by hand.
	failed, err := c.Progress.Finish(now(), weir.Failed, "no")
	b.ok(err)
	c.Progress = failed
	if c.Dead() {
		t.Error("it is a dead letter")
	}
	late := heard(id, "3", people.SaidStop, "STOP")
	late.From, late.ReplyTo, late.Purpose, late.At = "tel:+15550003", "+15550003", "research", now().Add(-people.ConfirmWithin)
	if c := b.claimed(lease, b.hear(late)[0]); c.Outcome != weir.Suppressed || !strings.Contains(c.Reason, "five minutes") {
		t.Errorf("five minutes over: %+v", c.Progress)
	}
	taken := heard(id, "4", people.SaidStop, "STOP")
	taken.From, taken.ReplyTo, taken.Purpose = "tel:+15550004", "+15550004", "research"
	confirms := b.hear(taken)[0]
	back := *taken
	back.Key, back.Said, back.At = "5", people.SaidStart, now()
	if more := b.hear(&back); len(more) != 0 {
		t.Errorf("a word that takes it back is answered: %+v", more)
	}
	if c := b.claimed(lease, confirms); c.Outcome != weir.Suppressed || !strings.Contains(c.Reason, "taken back") {
		t.Errorf("taken back: %+v", c.Progress)
	}
	back.Key, back.Said, back.At = "6", people.SaidStop, now().Add(-time.Hour) // it arrives late
	if more := b.hear(&back); len(more) != 0 {
		t.Errorf("a refusal that counts no more is confirmed: %+v", more)
	}
}

// testConfirmationIsNotTaken: what a dead letter makes, and any contact of another owner, is no
// confirmation.
func testConfirmationIsNotTaken(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	b.says("+15550001", people.Refused)
	_, history, err := b.Consents(b.ctx(), "tel:+15550001", 1)
	b.ok(err)
	for i, owner := range []weir.Owner{{}, {Group: history[0].ID}, {Group: history[0].ID, Serial: 1}, {Group: history[0].ID, ID: 1, Serial: -1}} {
		s := sms(fmt.Sprint(i))
		s.Priority, s.Owner = weir.Reply, owner
		if c := b.claimed(lease, b.accept(id, s)[0]); c.Outcome != weir.Suppressed {
			t.Errorf("%+v: %+v", owner, c.Progress)
		}
	}
}

// testAnswersRace: messages of one person that are recorded in one batch get one answer.
func testAnswersRace(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, _ := b.owned("a")
	b.purpose(people.DefaultPurpose, people.Purpose{Help: "We are Weir.", Confirmation: "You are out."})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			said := []people.Said{people.SaidHelp, people.SaidStop, people.SaidMaybe}[i%3]
			_, err := b.Hear(b.ctx(), heard(id, fmt.Sprint(said, i%6), said, "…"))
			b.ok(err)
		})
	}
	all.Wait()
	b.wantQueued(id, 2)
	list := must[[]people.Undecided](t)(b.Undecided(b.ctx(), 0, 10))
	if len(list) > 2 {
		t.Errorf("undecided: %+v", list)
	}
}

// testForgedSenders: a channel answers a bounded number of senders whom no survey is contacting; others, and other
// channels, are answered as ever, and every refusal counts.
func testForgedSenders(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, _ := b.owned("a")
	other, _ := b.owned("b")
	b.purpose(people.DefaultPurpose, people.Purpose{Help: "We are Weir.", Confirmation: "You are out."})
	const more = 50
	var all sync.WaitGroup
	send := func(id weir.ChannelID, i int, known bool) {
		all.Go(func() {
			m := heard(id, fmt.Sprint("forged", id, i), []people.Said{people.SaidHelp, people.SaidStop}[i%2], "…")
			m.ReplyTo, m.Known = fmt.Sprint("+1555", 1_000_000*int64(id)+int64(i)), known
			m.From = "tel:" + m.ReplyTo
			_, err := b.Hear(b.ctx(), m)
			b.ok(err)
		})
	}
	for i := range people.MaxStrangers + more {
		send(id, i, false)
	}
	all.Wait()
	b.wantQueued(id, people.MaxStrangers)
	for i := range 10 {
		send(id, people.MaxStrangers+more+i, true)
		send(other, i, false)
	}
	all.Wait()
	b.wantQueued(id, people.MaxStrangers+10)
	b.wantQueued(other, 10)
	if n := len(must[[]people.Consent](t)(b.AllConsents(b.ctx(), 0, 1000))); n != (people.MaxStrangers+more+20)/2 {
		t.Errorf("%d refusals are recorded", n)
	}
}

// testContactedAreNoStrangers: whom any channel contacted lately is answered however many strangers a channel has
// answered, and takes none of their answers; also after a start. A reply, and what did not go out, contacted nobody.
func testContactedAreNoStrangers(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	other, byOther := b.owned("b")
	b.purpose(people.DefaultPurpose, people.Purpose{Help: "We are Weir."})
	b.purpose("survey", people.Purpose{})
	number := func(n int) string { return fmt.Sprint("+1555", 1_000_000+n) }
	contact := func(by weir.Incarnation, purpose string, priority weir.Priority, numbers ...int) []weir.Accepted {
		var list []weir.Spec
		for _, n := range numbers {
			s := smsFor(purpose, fmt.Sprint("contact ", n))
			s.To, s.Priority = number(n), priority
			list = append(list, s)
		}
		return must[[]weir.Accepted](t)(b.acceptClaimed(by, len(list), list...))
	}
	const contacted, reply, returned, stranger = people.MaxStrangers + 10, 1001, 1002, 2000
	for n := range contacted / 2 {
		contact(lease, "", weir.Normal, 2*n)
		contact(byOther, "survey", weir.Normal, 2*n+1)
	}
	contact(lease, "", weir.Reply, reply)
	b.commitAll(lease, requeue(contact(lease, "", weir.Normal, returned)[0].Contact, now(), time.Time{}))
	b.ok(b.OpenPeople(b.ctx(), nil)) // as after a start

	asked := 0
	answered := func(over weir.ChannelID, n int) bool {
		m := heard(over, fmt.Sprint(asked), people.SaidHelp, "help")
		m.From, m.ReplyTo = "tel:"+number(n), number(n)
		asked++
		return len(b.hear(m)) == 1
	}
	want := func(what string, yes bool, over weir.ChannelID, numbers ...int) {
		t.Helper()
		for _, n := range numbers {
			if answered(over, n) != yes {
				t.Fatalf("%s %d: answered %v", what, n, !yes)
			}
		}
	}
	want("contacted", true, id, upTo(contacted-4)...)
	for n := range people.MaxStrangers {
		want("stranger", true, id, stranger+n)
	}
	want("nobody contacted", false, id, reply, returned, stranger+people.MaxStrangers)
	want("of another channel", true, other, reply)
	age := func(by time.Duration) {
		_, err := b.db.Pools().Write.ExecContext(b.ctx(), "UPDATE person_contacts SET claimed_at = claimed_at - ?", by.Microseconds())
		b.ok(err)
	}
	age(people.ContactedWithin - time.Hour)
	want("contacted a while ago", true, id, contacted-4, contacted-3)
	age(2 * time.Hour)
	want("contacted long ago", false, id, contacted-2, contacted-1)
}

// upTo lists the numbers below n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// testUndecided: messages wait for a decision, and a refusal among them is the person's own.
func testUndecided(t *testing.T, backend Backend) {
	b := withKeys(t, backend)
	id, lease := b.owned("a")
	doubt := func(key, from, text string) {
		m := heard(id, key, people.SaidMaybe, text)
		m.From, m.ReplyTo, m.Found, m.At = "tel:"+from, from, "stop", now().Add(-time.Minute)
		for range 2 { // the provider may repeat it
			if got := b.hear(m); len(got) != 0 {
				t.Errorf("it is answered: %+v", got)
			}
		}
	}
	doubt("1", "+15550001", "please stop ☹ "+strings.Repeat("é", 600))
	doubt("2", "+15550001", "I said stop")
	doubt("3", "+15550002", "I cannot stop laughing")
	doubt("4", "+15550003", "stop it now")
	list := must[[]people.Undecided](t)(b.Undecided(b.ctx(), 0, 10))
	if n := must[int](t)(b.CountUndecided(b.ctx(), 3)); len(list) != 4 || n != 3 {
		t.Fatalf("%d, counted %d up to 3: %+v", len(list), n, list)
	}
	if m := list[0]; m.Address != "tel:+15550001" || m.Channel != "a" || m.Found != "stop" || len([]rune(m.Text)) != 500 || m.At.IsZero() {
		t.Errorf("the first is %+v", m)
	}
	if rest := must[[]people.Undecided](t)(b.Undecided(b.ctx(), list[0].ID, 1)); len(rest) != 1 || rest[0].ID != list[1].ID {
		t.Errorf("behind the first: %+v", rest)
	}
	decide := func(m people.Undecided, d people.Decision, want weir.Code) people.State {
		t.Helper()
		got, state, err := b.Decide(b.ctx(), m.ID, d, "t1")
		if weir.CodeOf(err) != want || err == nil && got.Text != m.Text {
			t.Errorf("%d %s: %+v, %v", m.ID, d, got, err)
		}
		return state
	}
	for range 2 { // the answer may be lost
		if is := decide(list[0], people.DecidedRefused, ""); is.Status != people.Refused || is.Source != people.FromOperator || !is.At.Equal(list[0].At) {
			t.Errorf("the state is %+v", is)
		}
	}
	decide(list[0], people.DecidedDismissed, weir.CodeConflict)
	decide(people.Undecided{ID: 999}, people.DecidedDismissed, weir.CodeNotFound)
	decide(list[2], people.DecidedDismissed, "")
	decide(list[2], people.DecidedRefused, weir.CodeConflict)
	if rest := must[[]people.Undecided](t)(b.Undecided(b.ctx(), 0, 10)); len(rest) != 1 || rest[0].ID != list[3].ID {
		t.Errorf("what waits: %+v", rest) // that of the same person is decided, too
	}
	_, history, err := b.Consents(b.ctx(), "tel:+15550001", 10)
	b.ok(err)
	if len(history) != 1 || history[0].Words != list[0].Text || history[0].By != "t1" {
		t.Errorf("recorded: %+v", history)
	}
	must[[]people.State](t)(b.RecordConsents(b.ctx(), []people.Consent{{Address: "tel:+15550001", Purpose: people.AllPurposes, Status: people.Given, Source: people.FromAPI, At: now()}}))
	if c := b.claimed(lease, b.accept(id, sms("1"))[0]); c.Outcome != weir.Suppressed || !strings.Contains(c.Reason, "operator") {
		t.Errorf("a claim: %+v", c.Progress)
	}
	doubt("5", "+15550001", "stop!! please") // there is nothing to decide
	must[int](t)(b.Erase(b.ctx(), "tel:+15550003"))
	if n := must[int](t)(b.CountUndecided(b.ctx(), 10)); n != 0 {
		t.Errorf("%d wait after the erasure", n)
	}
	if n := must[int](t)(b.PurgeUndecided(b.ctx(), now().Add(-time.Hour), 10)); n != 0 {
		t.Errorf("%d purged too early", n)
	}
	if n := must[int](t)(b.PurgeUndecided(b.ctx(), now(), 10)); n != 4 { // with what is left of the erased one
		t.Errorf("%d purged", n)
	}
}

// testErasedMessages: an erased message that comes again stays erased, also one whose id was reused; others of the
// same id are stored.
func testErasedMessages(t *testing.T, b *bench, id weir.ChannelID, others, stored []weir.Incoming) {
	var gone []weir.Received
	for _, m := range stored[:len(stored)-1] { // the last one is not erased
		gone = append(gone, weir.Received{Channel: id, Incoming: m})
	}
	if n := must[int](t)(b.EraseIncoming(b.ctx(), gone)); n != len(gone) {
		t.Errorf("%d messages were erased", n)
	}
	for i, m := range append(slices.Clone(others), weir.Incoming{GUID: others[0].GUID, From: "3", Body: "a"}) {
		m.ReceivedAt = now()
		if again := must[bool](t)(b.Receive(b.ctx(), id, m)); again != (i < len(others)) {
			t.Errorf("%d after the erasure: duplicate %v", i, again)
		}
		at, erased, err := b.ReceivedAt(b.ctx(), id, m)
		if err != nil || erased != (i < len(gone)) || i < len(others) && !at.Equal(stored[i].ReceivedAt) {
			t.Errorf("%d after the erasure: %v, erased %v, %v", i, at, erased, err)
		}
	}
	if list := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), id, 0, 10)); len(list) != 2 || list[0].Body != "stop" || list[1].From != "3" {
		t.Errorf("left after the erasure: %+v", list)
	}
	if list := must[[]weir.Received](t)(b.IncomingFrom(b.ctx(), []string{"1", "2", ""}, 0, 10)); len(list) != 1 {
		t.Errorf("left of the person: %+v", list)
	}
}

// testHostileMessages: whatever is in ids, senders and texts, each message is stored once, and known when it comes again.
func testHostileMessages(t *testing.T, b *bench, id weir.ChannelID) {
	texts := []string{"", " ", "a", "A", "a ", "\x00", "a\x00", "\x00a", "ä", "a\u0308", "\xff", "\ufffd", "reused-", "reused-" + strings.Repeat("0", 64)}
	for round := range 2 {
		known := map[string]bool{} // as it is stored
		for _, guid := range texts[1:] {
			for _, from := range []string{"", "a", "\x00", "\x00a"} {
				for _, body := range []string{"", "a", "\x00", "a\x00", "\xff"} {
					key := fmt.Sprintf("%q", []string{strings.ToValidUTF8(guid, "\ufffd"), strings.ToValidUTF8(from, "\ufffd"), strings.ToValidUTF8(body, "\ufffd")})
					again, err := b.Receive(b.ctx(), id, weir.Incoming{GUID: guid, From: from, Body: body, ReceivedAt: now()})
					if err != nil || again != (round > 0 || known[key]) {
						t.Errorf("delivery %d of id %q, sender %q, text %q: duplicate %v, %v", round+1, guid, from, body, again, err)
					}
					known[key] = true
				}
			}
		}
	}
}

// testReceivedAt: a message that comes again was received when it came first.
func testReceivedAt(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	c := b.channel("a")
	at := now().Add(-time.Hour)
	guid := strings.Repeat("g", 300)
	// Gateways reuse ids: another sender or text is another message.
	others := []weir.Incoming{{GUID: guid, From: "1", Body: "a"}, {GUID: guid, From: "2", Body: "a"}, {GUID: guid, From: "1", Body: "STOP"}, {GUID: guid, From: "1", Body: "stop"}}
	for round, delay := range []time.Duration{0, time.Minute} {
		for i, m := range others {
			m.ReceivedAt = at.Add(time.Duration(i)*time.Second + delay)
			if again := must[bool](t)(b.Receive(b.ctx(), c.ID, m)); again != (round == 1) {
				t.Errorf("%d, delivery %d: duplicate %v", i, round, again)
			}
		}
	}
	for i, m := range others {
		got, erased, err := b.ReceivedAt(b.ctx(), c.ID, m)
		if want := at.Add(time.Duration(i) * time.Second); err != nil || erased || !got.Equal(want) {
			t.Errorf("%d: received at %v, want %v; erased %v, %v", i, got, want, erased, err)
		}
	}
	stored := must[[]weir.Incoming](t)(b.IncomingSince(b.ctx(), c.ID, 0, 10))
	if len(stored) != len(others) {
		t.Errorf("stored: %+v", stored)
	}
	testErasedMessages(t, b, c.ID, others, stored)
	testHostileMessages(t, b, b.channel("hostile").ID)
	if _, _, err := b.ReceivedAt(b.ctx(), c.ID, weir.Incoming{GUID: "other"}); err == nil {
		t.Error("a message that never came was received")
	}
}
