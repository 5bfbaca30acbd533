package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/events"
	"weir/persistence"
)

// contactLog is the log of the events of contacts in a history: whether they are enabled,
// and the events that are expected.
type contactLog struct {
	b     *bench // enables them; where possible another member than the writer
	on    bool
	after *int64 // the last event that was read
	want  map[weir.ContactID][]string
}

func (x *contactLog) enable(r *rapid.T) {
	x.on = true
	if err := x.b.WantContactEvents(x.b.ctx()); err != nil {
		r.Fatal(err)
	}
}

// reset makes the database as one in which nobody has asked for events of contacts yet, for
// the next history.
func (x *contactLog) reset(r *rapid.T) {
	for _, text := range []string{"UPDATE meta SET value = 0 WHERE name = 'contact_events'", "UPDATE writers SET fence = fence + 1"} {
		if _, err := x.b.db.Pools().Write.ExecContext(x.b.ctx(), text); err != nil {
			r.Fatal(err)
		}
	}
}

func (x *contactLog) note(id weir.ContactID, event string) {
	if x.on && event != "" {
		x.want[id] = append(x.want[id], event)
	}
}

// check reads the events since the last check. Each contact has those of its transitions
// that were committed once they were enabled, in order, and nothing besides is in the log.
func (x *contactLog) check(r *rapid.T) {
	got := map[weir.ContactID][]string{}
	for {
		list, err := x.b.EventsSince(x.b.ctx(), *x.after, 1000)
		if err != nil {
			r.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			if *x.after++; e.ID != *x.after {
				r.Fatalf("event %d follows %d", e.ID, *x.after-1)
			}
			id, text := brief(r, e)
			got[id] = append(got[id], text)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(x.want) {
		r.Fatalf("events\n%v\nwant\n%v", got, x.want)
	}
	clear(x.want)
}

// brief returns the contact of an event, and its kind, number of attempts and outcome.
func brief(t interface{ Fatalf(string, ...any) }, e events.Event) (weir.ContactID, string) {
	var d events.ContactData
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatalf("%s: %v", e.Data, err)
	}
	ref, err := weir.ParseRef(d.Contact)
	if err != nil || e.Subject != "contact/"+d.Contact || e.Source != events.SourceContacts {
		t.Fatalf("%+v: %v", e, err)
	}
	return ref.ID, strings.TrimSpace(fmt.Sprintf("%s %d %s", strings.TrimPrefix(e.Type, "weir.contact."), d.Attempts, d.Outcome))
}

// testContactEvents takes contacts through their lives, and compares the data of their
// events, member by member, with what the encoder of the language makes of it.
func testContactEvents(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	b.ok(b.WantContactEvents(b.ctx()))
	id, lease := b.owned("söuth")
	spec := sms("a <key> & \"more\"")
	spec.Survey, spec.Labels = "s é", map[string]string{"b": "2", "a": "<1>"}
	c := b.accept(id, spec)[0]
	base := events.ContactData{Contact: c.Ref.String(), Key: spec.Key, Channel: "söuth", To: spec.To, Survey: spec.Survey, Labels: spec.Labels, Attempts: 1, QueuedAt: c.QueuedAt}
	var want []events.Event
	expect := func(kind string, at time.Time, d events.ContactData) {
		raw, err := json.Marshal(d)
		b.ok(err)
		want = append(want, events.Event{ID: int64(len(want) + 1), Type: kind, Source: "contacts", Subject: "contact/" + d.Contact, At: at, Data: raw})
	}
	at := now().Add(-time.Minute)
	commit := func(tr weir.Transition) { b.commitAll(lease, tr); c = tr.Contact }

	commit(claim(c, at))
	d := base
	d.ClaimedAt = at
	expect(events.ContactDispatched, at, d)
	due := at.Add(time.Hour)
	commit(requeue(c, at.Add(time.Second), due))
	d.Reason, d.DueAt = "try_again", due
	expect(events.ContactRequeued, at.Add(time.Second), d)
	p, err := c.Ready()
	commit(to(c, p, err))
	at = at.Add(2 * time.Second)
	commit(claim(c, at))
	d = base
	d.Attempts, d.ClaimedAt = 2, at
	expect(events.ContactDispatched, at, d)
	p, err = c.Accept(at.Add(time.Second), strings.Repeat("ü", 600))
	commit(to(c, p, err))
	d.SentAt, d.ProviderRef = at.Add(time.Second), strings.Repeat("ü", 512)
	expect(events.ContactAccepted, d.SentAt, d)
	commit(finish(c, at.Add(2*time.Second), weir.Failed))
	d.FinishedAt, d.Outcome, d.Reason = at.Add(2*time.Second), weir.Failed, "said so"
	expect(events.ContactDone, d.FinishedAt, d)
	same(t, "events", b.everything(100), want)

	// The first report of a message ends a contact that the provider was not known to have
	// accepted: both events are of one transition.
	c = b.accept(id, sms("b"))[0]
	commit(claim(c, at))
	p, _, err = c.ReportPart(at.Add(time.Second), 1, 0, weir.PartDelivered)
	b.ok(err)
	p, err = p.Finish(at.Add(time.Second), weir.Completed, "")
	commit(to(c, p, err))
	d = events.ContactData{Contact: c.Ref.String(), Key: "b", Channel: "söuth", To: spec.To, Attempts: 1, QueuedAt: c.QueuedAt, ClaimedAt: at}
	expect(events.ContactDispatched, at, d)
	d.SentAt = at.Add(time.Second)
	expect(events.ContactAccepted, d.SentAt, d)
	d.Outcome, d.FinishedAt = weir.Completed, d.SentAt
	expect(events.ContactDone, d.SentAt, d)
	same(t, "events", b.everything(100), want)
}

// testMessageEvents receives messages: each has one event, however often the provider
// repeats it, in the transaction that stores it.
func testMessageEvents(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	channel := b.channel("sms")
	m := weir.Incoming{GUID: "g1", From: "+15550009", To: "123", Body: "STOP <now>", ReceivedAt: now()}
	receive := func() {
		t.Helper()
		if _, err := b.Receive(b.ctx(), channel.ID, m); err != nil {
			t.Fatal(err)
		}
	}
	receive()
	if list := b.everything(10); len(list) != 0 {
		t.Fatalf("events before they are enabled: %+v", list)
	}
	called := 0
	defer b.OnEvents(func() { called++ })()
	b.ok(b.WantContactEvents(b.ctx()))
	receive() // a repeat
	m.GUID = "g2"
	receive()
	receive()
	list := b.everything(10)
	stored, err := b.IncomingSince(b.ctx(), channel.ID, 0, 10)
	if b.ok(err); len(list) != 1 || len(stored) != 2 || called != 1 {
		t.Fatalf("%d messages, %d calls, events %+v", len(stored), called, list)
	}
	var d events.MessageData
	b.ok(json.Unmarshal(list[0].Data, &d))
	number := fmt.Sprint(stored[1].ID)
	same(t, "the message", d, events.MessageData{Message: number, Channel: "sms", From: m.From, To: m.To, Text: m.Body, GUID: "g2", ReceivedAt: m.ReceivedAt})
	if e := list[0]; e.Type != events.MessageReceived || e.Subject != "channel/sms/incoming/"+number || !e.At.Equal(m.ReceivedAt) {
		t.Errorf("%+v", e)
	}
}

// testContactEventsEnabled has them enabled twice, and members that always or never write
// them.
func testContactEventsEnabled(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	n := 0
	expect := func(what string, want bool) {
		t.Helper()
		n++
		c := b.accept(id, sms(fmt.Sprint("k", n)))[0]
		before := must[int64](t)(b.LatestEvent(b.ctx()))
		b.commitAll(lease, claim(c, now()))
		if got := must[int64](t)(b.LatestEvent(b.ctx())) > before; got != want {
			t.Errorf("%s: events are written: %v", what, got)
		}
	}
	expect("before anyone wants them", false)
	for range 2 {
		b.ok(b.WantContactEvents(b.ctx()))
		expect("enabled", true)
	}

	b = benchOn(t, backend.URL(t), persistence.Options{ContactEvents: events.Always})
	id, lease = b.owned("a")
	expect("always", true)
	b = benchOn(t, backend.URL(t), persistence.Options{ContactEvents: events.Never})
	id, lease = b.owned("a")
	b.ok(b.WantContactEvents(b.ctx()))
	expect("never", false)
}
