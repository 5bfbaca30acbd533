package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/events"
)

func webhookOf(id string, types ...string) events.Webhook {
	at := now()
	return events.Webhook{
		ID: id, URL: "https://r.example/é?key=1", Types: types, Channel: "c", Survey: "s", Description: "für Ä", Enabled: true, PII: true,
		Secret: "whsec_1", OldSecrets: []events.OldSecret{{Secret: "whsec_0", Until: at}, {Secret: "whsec_00", Until: at.Add(-time.Hour)}}, Disabled: "gone", FailingSince: at, Revision: 1, Generation: 1, Created: at, Updated: at, //nolint:gosec // of the tests
	}
}

func testWebhooks(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	called := 0
	stop := b.OnWebhooks(func() { called++ })
	b.ok(b.Emit(b.ctx(), eventOf("a", 0)))
	one, two := webhookOf("wh1", "weir.survey.state", "weir.channel.*"), webhookOf("wh2", "weir.contact.*")
	b.ok(b.AddWebhook(b.ctx(), two))
	b.ok(b.AddWebhook(b.ctx(), one))
	same(t, "webhooks", must[[]events.Webhook](t)(b.Webhooks(b.ctx(), "", 10)), []events.Webhook{one, two})
	same(t, "a page", must[[]events.Webhook](t)(b.Webhooks(b.ctx(), "wh1", 1)), []events.Webhook{two})
	if p := must[events.Progress](t)(b.Progress(b.ctx(), one.Receiver())); p.Cursor != 1 {
		t.Errorf("a new webhook is at %d", p.Cursor)
	}
	if called != 2 {
		t.Errorf("the hook was called %d times", called)
	}

	changed := one
	changed.URL, changed.Types, changed.Enabled, changed.PII, changed.Disabled, changed.FailingSince = "https://q.example", []string{"weir.survey.state"}, false, false, "", time.Time{}
	changed.Secret, changed.OldSecrets, changed.Channel, changed.Survey, changed.Description = "whsec_2", nil, "", "", ""
	at := now().Add(time.Minute)
	got := must[events.Webhook](t)(b.UpdateWebhook(b.ctx(), changed, at))
	changed.Revision, changed.Generation, changed.Updated = 2, 2, at
	same(t, "the change", got, changed)
	stale := changed
	stale.Revision = 1
	_, err := b.UpdateWebhook(b.ctx(), stale, at)
	wantCode(t, err, weir.CodePrecondition)
	wantCode(t, b.DeleteWebhook(b.ctx(), "wh1", 1), weir.CodePrecondition)
	same(t, "after refusals", must[events.Webhook](t)(b.Webhook(b.ctx(), "wh1")), changed)

	b.ok(b.SetFailing(b.ctx(), "wh1", at))
	if w := must[events.Webhook](t)(b.Webhook(b.ctx(), "wh1")); !w.FailingSince.Equal(at) || w.Revision != 2 || w.Generation != 2 {
		t.Errorf("failing: %+v", w)
	}
	b.ok(b.DeleteWebhook(b.ctx(), "wh1", 2))
	for _, err := range []error{
		b.DeleteWebhook(b.ctx(), "wh1", 0), b.ReplayEvent(b.ctx(), "wh1", eventOf("a", 1), at), second(b.Webhook(b.ctx(), "wh1")),
		second(b.UpdateWebhook(b.ctx(), changed, at)), second(b.Tries(b.ctx(), "wh1", 0, 1)),
	} {
		wantCode(t, err, weir.CodeNotFound)
	}
	if p := must[events.Progress](t)(b.Progress(b.ctx(), one.Receiver())); p.Cursor != 0 {
		t.Errorf("a deleted webhook is at %d", p.Cursor)
	}
	stop()
	calls := called
	b.ok(b.DeleteWebhook(b.ctx(), "wh2", 0))
	if called != calls {
		t.Error("the hook was called after it was taken away")
	}
}

func second[T any](_ T, err error) error { return err }

// The first webhook that takes events of contacts enables them, whether it was created or
// changed so. They stay enabled.
func testWebhooksEnableContactEvents(t *testing.T, backend Backend) {
	for name, enable := range map[string]func(*bench, events.Webhook){
		"created": func(b *bench, w events.Webhook) { b.ok(b.AddWebhook(b.ctx(), w)) },
		"changed": func(b *bench, w events.Webhook) {
			wanted := w.Types
			w.Types = []string{"weir.survey.state"}
			b.ok(b.AddWebhook(b.ctx(), w))
			b.writesContactEvents("with a webhook for others", false)
			w.Types = wanted
			must[events.Webhook](b.t)(b.UpdateWebhook(b.ctx(), w, now()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, backend)
			b.writesContactEvents("without a webhook", false)
			enable(b, webhookOf("wh1", "weir.contact.*"))
			b.writesContactEvents("with one that takes them", true)
			b.ok(b.DeleteWebhook(b.ctx(), "wh1", 0))
			b.writesContactEvents("without it", true)
		})
	}
}

// writesContactEvents ends a contact, and checks whether its events are in the log.
func (b *bench) writesContactEvents(what string, want bool) {
	b.t.Helper()
	before := must[int64](b.t)(b.LatestEvent(b.ctx()))
	id, lease := b.owned(what)
	b.end(lease, weir.Completed, "", b.accept(id, sms(what))...)
	if got := must[int64](b.t)(b.LatestEvent(b.ctx())) > before; got != want {
		b.t.Errorf("%s: events of contacts are written: %v", what, got)
	}
}

func testMostWebhooks(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	b.fill("webhooks", events.MaxWebhooks-1, map[string]string{
		"url": "'https://r.example'", "types": "'weir.survey.state'", "channel": "''", "survey": "''", "description": "''", "enabled": "1", "pii": "0", "secret": "''",
		"old_secrets": "'null'", "old_until": "0", "disabled": "''", "failing_since": "0", "revision": "1", "generation": "1", "created_at": "1", "updated_at": "1",
	})
	last, more := webhookOf("wh1", "weir.survey.state"), webhookOf("wh2", "weir.survey.state")
	b.ok(b.AddWebhook(b.ctx(), last))
	wantCode(t, b.AddWebhook(b.ctx(), more), weir.CodeConflict)
	if list := must[[]events.Webhook](t)(b.Webhooks(b.ctx(), "", 2000)); len(list) != events.MaxWebhooks {
		t.Errorf("%d webhooks", len(list))
	}
	b.ok(b.DeleteWebhook(b.ctx(), last.ID, 0))
	b.ok(b.AddWebhook(b.ctx(), more))
}

func testTries(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	b.ok(b.AddTries(b.ctx(), nil))
	b.ok(b.AddWebhook(b.ctx(), webhookOf("wh1", "weir.survey.state")))
	b.ok(b.AddWebhook(b.ctx(), webhookOf("wh2", "weir.survey.state")))
	var list []events.Try
	for n := range events.KeptTries + 50 {
		list = append(list, events.Try{
			Webhook: "wh1", At: now().Add(time.Duration(n) * time.Second), Event: int64(n), Type: "weir.survey.state", Status: 503, Duration: 1500 * time.Microsecond, Error: "status", Abandoned: n%2 == 0,
		})
	}
	other := events.Try{Webhook: "wh2", At: now(), Type: events.WebhookTest, Status: 200}
	b.ok(b.AddTries(b.ctx(), append(slices.Clone(list), other, events.Try{Webhook: "gone", At: now()})))
	got := must[[]events.Try](t)(b.Tries(b.ctx(), "wh1", 0, 1000))
	want := slices.Clone(list[50:])
	slices.Reverse(want)
	for i := range got {
		if i < len(want) {
			want[i].ID = got[i].ID
		}
	}
	same(t, "the latest tries", got, want)
	same(t, "a page", must[[]events.Try](t)(b.Tries(b.ctx(), "wh1", got[4].ID, 2)), got[5:7])
	if list := must[[]events.Try](t)(b.Tries(b.ctx(), "wh2", 0, 10)); len(list) != 1 || list[0].Error != "" {
		t.Errorf("of the other: %+v", list)
	}
	b.ok(b.PurgeWebhooks(b.ctx(), list[100].At, now()))
	if n := len(must[[]events.Try](t)(b.Tries(b.ctx(), "wh1", 0, 1000))); n != events.KeptTries-50 {
		t.Errorf("%d tries after a purge", n)
	}
}

// testReplays abandons events and replays them.
func testReplays(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	w := webhookOf("wh1", "test.*")
	b.ok(b.AddWebhook(b.ctx(), w))
	for n := range 9 {
		b.ok(b.Emit(b.ctx(), eventOf("é", n)))
	}
	at := now()
	progress := func() events.Progress { return must[events.Progress](t)(b.Progress(b.ctx(), w.Receiver())) }
	gaveUp := func(id int64, at time.Time) events.Deferred {
		return events.Deferred{Event: id, Order: "é", NextAt: at}
	}
	b.ok(b.Advance(b.ctx(), events.Step{
		Receiver: w.Receiver(), Cursor: 7, Put: []events.Deferred{{Event: 5, Order: "é", Tries: 3, NextAt: at.Add(time.Hour)}},
		Abandoned: []events.Deferred{gaveUp(1, at), gaveUp(2, at.Add(time.Minute)), gaveUp(3, at.Add(2*time.Minute))},
	}))
	b.ok(b.Advance(b.ctx(), events.Step{Receiver: w.Receiver(), Cursor: 7, Abandoned: []events.Deferred{gaveUp(1, at)}})) // again
	generation := must[events.Webhook](t)(b.Webhook(b.ctx(), "wh1")).Generation
	n, more, err := b.ReplayFailed(b.ctx(), "wh1", at.Add(time.Minute))
	if err != nil || n != 2 || more {
		t.Errorf("%d replayed, more %v (%v)", n, more, err)
	}
	if n, _, err := b.ReplayFailed(b.ctx(), "wh1", at.Add(time.Minute)); err != nil || n != 0 {
		t.Errorf("%d replayed once more (%v)", n, err)
	}
	b.ok(b.ReplayEvent(b.ctx(), "wh1", events.Event{ID: 5, Subject: "é"}, at)) // waits for a retry
	wantCode(t, b.ReplayEvent(b.ctx(), "wh1", events.Event{ID: 8, Subject: "é"}, at), weir.CodeConflict)
	if g := must[events.Webhook](t)(b.Webhook(b.ctx(), "wh1")).Generation; g != generation+3 {
		t.Errorf("generation %d after %d and three replays", g, generation)
	}
	if d := len(progress().Deferred); d != 1 {
		t.Errorf("%d deferred before the owner adopted the replays", d)
	}
	later := at.Add(time.Minute)
	b.ok(b.AdoptReplays(b.ctx(), "wh1", later))
	want := []events.Deferred{gaveUp(2, later), gaveUp(3, later), gaveUp(5, later)}
	same(t, "adopted", progress(), events.Progress{Cursor: 7, Deferred: want})
	b.ok(b.AdoptReplays(b.ctx(), "wh1", later.Add(time.Hour)))
	same(t, "adopted again", progress(), events.Progress{Cursor: 7, Deferred: want})

	b.ok(b.ReplayEvent(b.ctx(), "wh1", events.Event{ID: 1, Subject: "é"}, at))
	b.ok(b.DeleteWebhook(b.ctx(), "wh1", 0))
	b.ok(b.Advance(b.ctx(), events.Step{Receiver: w.Receiver(), Cursor: 8, Put: want, Abandoned: want}))
	if d := progress().Deferred; len(d) != 0 {
		t.Errorf("a deleted webhook has %d deferred", len(d))
	}
}

func testManyReplays(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	w := webhookOf("wh1", "test.*")
	b.ok(b.AddWebhook(b.ctx(), w))
	step := events.Step{Receiver: w.Receiver(), Cursor: 5000}
	for n := range events.MaxReplay + 300 {
		step.Abandoned = append(step.Abandoned, events.Deferred{Event: int64(n + 1), Order: "x", NextAt: now()})
	}
	b.ok(b.Advance(b.ctx(), step))
	for _, want := range []int{events.MaxReplay, 300} {
		if n, more, err := b.ReplayFailed(b.ctx(), "wh1", time.Time{}); err != nil || n != want || more != (want == events.MaxReplay) {
			t.Errorf("%d replayed, more %v (%v)", n, more, err)
		}
	}
	b.ok(b.AdoptReplays(b.ctx(), "wh1", now()))
	if n := len(must[events.Progress](t)(b.Progress(b.ctx(), w.Receiver())).Deferred); n != len(step.Abandoned) {
		t.Errorf("%d adopted", n)
	}
}

func testWebhookDisabled(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	w := webhookOf("wh1", "weir.webhook.*")
	w.Disabled = ""
	b.ok(b.AddWebhook(b.ctx(), w))
	stale := w
	stale.Generation = 0
	b.ok(b.DisableWebhook(b.ctx(), stale, events.DisabledGone, now()))
	same(t, "disabled by one who knew an older one", must[events.Webhook](t)(b.Webhook(b.ctx(), "wh1")), w)
	at := now()
	for range 2 { // the second has no effect
		b.ok(b.DisableWebhook(b.ctx(), w, events.DisabledFailing, at))
	}
	got := must[events.Webhook](t)(b.Webhook(b.ctx(), "wh1"))
	if d := cmp.Diff([]any{false, "failing", int64(2), int64(2)}, []any{got.Enabled, got.Disabled, got.Revision, got.Generation}); d != "" {
		t.Error(d)
	}
	list := b.everything(10)
	if len(list) != 1 || list[0].Type != events.WebhookDisabled || !strings.Contains(string(list[0].Data), `"failing"`) {
		t.Errorf("events: %+v", list)
	}
	wantCode(t, b.DisableWebhook(b.ctx(), webhookOf("none", "x"), "gone", at), weir.CodeNotFound)
}
