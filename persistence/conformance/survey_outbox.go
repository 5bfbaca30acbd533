package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"weir"
	"weir/internal/document"
	"weir/operators"
	"weir/surveys"
)

// mine returns a spec for a respondent.
func mine(key string, respondent int64) weir.Spec {
	s := sms(key)
	s.Owner = weir.Owner{Group: 5, ID: respondent, Serial: 3}
	return s
}

func testFor(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, _ := b.owned("a")
	list := b.accept(id, mine("a", 1<<60), sms("b"))
	for i, want := range []weir.Owner{{Group: 5, ID: 1 << 60, Serial: 3}, {}} {
		c, _ := b.read(list[i].Ref)
		same(t, "for the respondent", []weir.Owner{list[i].Owner, c.Owner}, []weir.Owner{want, want})
	}
}

func testOutbox(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var calls atomic.Int64
	b.OnOutboxEntries(func() { calls.Add(1) })
	id, lease := b.owned("a")
	list := b.accept(id, mine("a", 1), sms("b"), mine("c", 2), mine("d", 3))
	at := now()
	var claimed []weir.Contact
	for _, c := range list {
		tr := claim(c, at)
		b.commitAll(lease, tr)
		claimed = append(claimed, tr.Contact)
	}
	b.wantEntries()
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls for no notice", n)
	}
	active := func(c weir.Contact) weir.Transition {
		p, err := c.Progress.Accept(at, "ref")
		return to(c, p, err)
	}
	other, first := active(claimed[1]), active(claimed[0])
	b.commitAll(lease, other, first)
	handed := surveys.OutboxEntry{
		Kind: surveys.ContactAccepted, At: first.Contact.SentAt, Channel: id, Contact: list[0].Ref,
		Owner: list[0].Owner, Messages: 1,
	}
	b.wantEntries(handed)
	// Two steps of one contact in one batch are two outbox entries; a stale one is none.
	both := active(claimed[2])
	end := finish(both.Contact, at, weir.Completed)
	end.Result = weir.Result{Code: "partial", CallSeconds: 30}
	one, two := b.later(weir.Change{By: lease, Transitions: []weir.Transition{both}}), b.later(weir.Change{By: lease, Transitions: []weir.Transition{end}})
	if r := <-one; r.Err != nil {
		t.Fatal(r.Err)
	}
	if r := <-two; r.Err != nil {
		t.Fatal(r.Err)
	}
	stale := finish(claimed[3], at, weir.Failed)
	stale.From += 5
	if r := b.commit(weir.Change{By: lease, Transitions: []weir.Transition{stale, finish(first.Contact, at, weir.Busy)}}); len(r.Stale) != 1 {
		t.Fatalf("%+v", r)
	}
	handed2, ended2, ended := handed, handed, handed
	handed2.Contact, handed2.Owner, handed2.At = list[2].Ref, list[2].Owner, both.Contact.SentAt
	ended2.Kind, ended2.Contact, ended2.Owner, ended2.Outcome, ended2.At = surveys.ContactEnded, list[2].Ref, list[2].Owner, weir.Completed, end.Contact.FinishedAt
	ended2.Reason, ended2.Result, ended.Reason = "said so", end.Result, "said so"
	ended.Kind, ended.Outcome, ended.At = surveys.ContactEnded, weir.Busy, at
	got := b.wantEntries(handed, handed2, ended2, ended)
	if calls.Load() == 0 {
		t.Error("no call reported the entries")
	}
	b.deleteEntries(got)
}

// Of a reply there is one entry, when it turns out that the provider has it. It is a
// dead letter if it fails.
func testReplyOutbox(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	reply := func(key string) weir.Spec {
		s := mine(key, 1)
		s.Owner.Serial, s.Messages = 0, []string{"how old are you?", "really?"}
		return s
	}
	at := now()
	var claimed []weir.Contact
	for _, c := range b.accept(id, reply("accepted"), reply("delivered"), reply("refused"), reply("found")) {
		tr := claim(c, at)
		b.commitAll(lease, tr)
		claimed = append(claimed, tr.Contact)
	}
	p, err := claimed[0].Accept(at, "ref")
	accepted := to(claimed[0], p, err)
	p, err = claimed[3].MarkUnknown("timeout")
	unknown := to(claimed[3], p, err)
	b.commitAll(lease, accepted, unknown, finish(claimed[1], at, weir.Completed), finish(claimed[2], at, weir.Failed))
	p, err = unknown.Contact.Accept(at, "")
	b.commitAll(lease, finish(accepted.Contact, at, weir.Completed), to(unknown.Contact, p, err))
	want := surveys.OutboxEntry{Kind: surveys.ContactAccepted, At: at, Channel: id, Contact: claimed[0].Ref, Owner: claimed[0].Owner, Messages: 2}
	delivered, found := want, want
	delivered.Kind, delivered.Contact, delivered.Outcome, delivered.Reason = surveys.ContactEnded, claimed[1].Ref, weir.Completed, "said so"
	found.Contact = claimed[3].Ref
	b.wantEntries(want, delivered, found)
	same(t, "dead letters", refsOf(b.deadLetters(operators.DeadLetterFilter{})), []weir.ContactID{claimed[2].ID})
}

// deleteEntries deletes outbox entries through works: the entries of a stale move stay.
func (b *bench) deleteEntries(got []surveys.OutboxEntry) {
	b.t.Helper()
	v, _, err := b.PutSurvey(b.ctx(), surveys.Survey{Name: "s"}, document.Condition{})
	b.ok(err)
	added, err := b.Add(b.ctx(), v.ID, 0, []surveys.Respondent{person(1, ""), person(2, "")})
	b.ok(err)
	list, err := b.RespondentsByID(b.ctx(), []surveys.RespondentID{added[0].ID, added[1].ID})
	b.ok(err)
	good, stale := activate(list[0], now()), activate(list[1], now())
	stale.Was.Rev, stale.Is.Rev = 7, 8
	good.Taken, stale.Taken = []int64{got[0].ID}, []int64{got[1].ID}
	_, err = b.Work(b.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{good, stale}, Taken: []int64{got[2].ID}})
	b.ok(err)
	left, err := b.OutboxEntries(b.ctx(), 0, 10)
	b.ok(err)
	same(b.t, "what is left", left, []surveys.OutboxEntry{got[1], got[3]})
	_, err = b.Work(b.ctx(), surveys.Work{Survey: v.ID, Taken: []int64{got[1].ID, got[3].ID}})
	b.ok(err)
	b.wantEntries()
}

// wantEntries requires these outbox entries, ignoring their ids.
func (b *bench) wantEntries(want ...surveys.OutboxEntry) []surveys.OutboxEntry {
	b.t.Helper()
	got, err := b.OutboxEntries(b.ctx(), 0, 10)
	b.ok(err)
	bare := make([]surveys.OutboxEntry, len(got))
	for i, n := range got {
		bare[i] = n
		bare[i].ID = 0
	}
	same(b.t, "outbox", bare, want)
	for i := range got {
		rest, err := b.OutboxEntries(b.ctx(), got[i].ID, 1)
		b.ok(err)
		same(b.t, "the next one", rest, got[i+1:min(i+2, len(got))])
	}
	return got
}

func testIncomingOutbox(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	calls := 0
	b.OnOutboxEntries(func() { calls++ })
	id, _ := b.owned("a")
	m := weir.Incoming{From: "+15550001", To: "100", Body: "si, ¡claro! ✓", GUID: "g", ReceivedAt: now(), Fields: map[string]string{"a": "b"}}
	for range 2 {
		_, err := b.Receive(b.ctx(), id, m)
		b.ok(err)
	}
	list, err := b.IncomingSince(b.ctx(), id, 0, 10)
	b.ok(err)
	b.wantEntries(surveys.OutboxEntry{Kind: surveys.MessageReceived, At: m.ReceivedAt, Channel: id, Message: list[0]})
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// testMessagesOfOneBatch receives messages at once over two channels, most of them twice: those of one person, those with the id of
// another one, and those without an id.
func testMessagesOfOneBatch(t *testing.T, backend Backend) {
	const texts = 20
	b := newBench(t, backend)
	one, _ := b.owned("a")
	other, _ := b.owned("b")
	var all sync.WaitGroup
	var fresh [3]atomic.Int32 // by what the messages are
	receive := func(kind int, channel weir.ChannelID, m weir.Incoming) {
		all.Go(func() {
			known, err := b.Receive(b.ctx(), channel, m)
			if err != nil {
				t.Error(err)
			}
			if !known {
				fresh[kind].Add(1)
			}
		})
	}
	for i := range texts {
		for range 2 {
			receive(0, one, weir.Incoming{From: "+15550001", Body: fmt.Sprint(i), GUID: fmt.Sprint("g", i)})
			receive(1, other, weir.Incoming{From: "+15550002", Body: fmt.Sprint(i), GUID: "g"})
			receive(2, one, weir.Incoming{From: "+15550003", Body: "without an id"})
		}
	}
	all.Wait()
	for kind, want := range []int32{texts, texts, 2 * texts} {
		if n := fresh[kind].Load(); n != want {
			t.Errorf("of kind %d %d messages were new, want %d", kind, n, want)
		}
	}
	page, err := b.OutboxEntries(b.ctx(), 0, 1000)
	b.ok(err)
	if len(page) != 4*texts {
		t.Errorf("%d outbox entries, want %d", len(page), 4*texts)
	}
	for channel, want := range map[weir.ChannelID]int{one: 3 * texts, other: texts} {
		list, err := b.IncomingSince(b.ctx(), channel, 0, 1000)
		b.ok(err)
		if len(list) != want || !slices.IsSortedFunc(list, func(a, b weir.Incoming) int { return cmp.Compare(a.ID, b.ID) }) {
			t.Errorf("%d messages, want %d in order", len(list), want)
		}
	}
}
