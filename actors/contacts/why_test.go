package contacts_test

import (
	"errors"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
	"weir/operators"
)

func wantWhy(t *testing.T, got operators.Why, code operators.WhyCode, text string) {
	t.Helper()
	if got.Code != code || got.Text() != text {
		t.Errorf("it waits because of\n%s %q, want\n%s %q", got.Code, got.Text(), code, text)
	}
}

// why explains a contact from its row.
func (r *rig) why(id weir.ContactID) operators.Why {
	row := r.store[id]
	return r.core.Why(&row, r.now)
}

func paused(r *rig) { r.ch.Paused = true }

func reserve(n float64) func(*rig) {
	return func(r *rig) { r.ch.Settings["reply_reserve"] = n }
}

// What a waiting contact waits for, and what goes before it. The last contact that was
// accepted is explained.
func TestWhy_ExplainsAWaitingContact(t *testing.T) {
	t.Parallel()
	const isPaused = "channel c is paused"
	for name, c := range map[string]struct {
		change []func(*rig)
		set    func(*rig)
		code   operators.WhyCode
		text   string
	}{
		"paused":         {[]func(*rig){paused}, func(r *rig) { r.accept(text(1)) }, operators.WhyPaused, isPaused},
		"one ahead":      {[]func(*rig){paused}, func(r *rig) { r.accept(text(1), text(1)) }, operators.WhyPaused, isPaused + "; 1 contact ahead"},
		"two ahead":      {[]func(*rig){paused}, func(r *rig) { r.accept(text(1), text(1), text(1)) }, operators.WhyPaused, isPaused + "; 2 contacts ahead"},
		"another survey": {[]func(*rig){paused}, func(r *rig) { r.accept(of("a", 1, 1)...); r.accept(of("b", 1, 1)...) }, operators.WhyPaused, isPaused},
		"higher priority": {
			[]func(*rig){paused}, func(r *rig) { r.accept(at(weir.High, 2)...); r.accept(at(weir.Reply, 1)...); r.accept(text(1)) },
			operators.WhyPaused, isPaused + "; 3 of higher priority ahead",
		},
		"lower priority": {[]func(*rig){paused}, func(r *rig) { r.accept(text(1)); r.accept(at(weir.High, 1)...) }, operators.WhyPaused, isPaused},
		"both": {
			[]func(*rig){paused}, func(r *rig) { r.accept(at(weir.High, 1)...); r.accept(text(1), text(1)) },
			operators.WhyPaused, isPaused + "; 1 of higher priority and 1 contact ahead",
		},
		"not all in memory": {
			[]func(*rig){paused}, func(r *rig) { r.accept(of("a", 100, 1)...) },
			operators.WhyPaused, isPaused + "; more than 32 contacts ahead",
		},
		"full":           {nil, func(r *rig) { r.accept(text(2), text(1)) }, operators.WhyCapacity, "channel c: 2 of 2 slots in use"},
		"full for two":   {nil, func(r *rig) { r.accept(text(1), text(2)) }, operators.WhyCapacity, "channel c: 1 of 2 slots in use; it takes 2"},
		"behind another": {nil, func(r *rig) { r.accept(text(1), text(2), text(1)) }, operators.WhyTurn, "1 contact ahead"},
		"full, behind another": {
			nil, func(r *rig) { r.accept(text(2), text(1), text(1)) },
			operators.WhyCapacity, "channel c: 2 of 2 slots in use; 1 contact ahead",
		},
		"behind another survey": {
			nil, func(r *rig) { r.accept(of("a", 1, 1)...); r.accept(of("a", 1, 2)...); r.accept(of("b", 1, 1)...) },
			operators.WhyTurn, "its turn has come",
		},
		"reserved": {
			[]func(*rig){reserve(1)}, func(r *rig) { r.accept(text(1), text(1)) },
			operators.WhyReplyReserve, "channel c: 1 of 2 slots in use; the free ones are kept for replies",
		},
		"too large": {nil, func(r *rig) { r.accept(text(3)) }, operators.WhyTooLarge, "it takes 3 slots and channel c has 2; raise the capacity, or cancel it"},
		"too large beside the reserve": {
			[]func(*rig){reserve(1)}, func(r *rig) { r.accept(text(2)) },
			operators.WhyTooLarge, "it takes 2 slots and channel c has 2, 1 of them kept for replies; raise the capacity, or cancel it",
		},
		"a reply too large": {
			[]func(*rig){reserve(1)}, func(r *rig) { r.accept(with(text(3), func(s *weir.Spec) { s.Priority = weir.Reply })) },
			operators.WhyTooLarge, "it takes 3 slots and channel c has 2; raise the capacity, or cancel it",
		},
		"too large and paused": {[]func(*rig){paused}, func(r *rig) { r.accept(text(3)) }, operators.WhyTooLarge, "it takes 3 slots and channel c has 2; raise the capacity, or cancel it"},
		"not yet": {
			[]func(*rig){paused}, func(r *rig) { r.accept(with(text(1), func(s *weir.Spec) { s.NotBefore = start.Add(time.Hour) })) },
			operators.WhyNotBefore, "its window opens at 2026-03-01 10:00:00 UTC",
		},
		"retry": {
			[]func(*rig){takes(later), func(r *rig) { r.prov.retry = time.Minute }}, func(r *rig) { r.accept(text(1)); r.pause(true) },
			operators.WhyRetry, "attempt 2 is due at 2026-03-01 09:01:00 UTC; this recipient later",
		},
		"stopping": {
			nil, func(r *rig) { r.tell((*contacts.Core).Drain); r.accept(text(1)) },
			operators.WhyStopping, "the process that runs the channel is shutting down; the next one to run it goes on",
		},
		"not set up yet": {
			nil, func(r *rig) { r.hold["prepare"] = true; r.accept(text(1)) },
			operators.WhyPreparing, "the provider of channel c is being set up",
		},
		"not set up": {
			[]func(*rig){func(r *rig) { r.prepErr = errors.New("wrong password") }}, func(r *rig) { r.accept(text(1)); r.pass(time.Second / 4) },
			operators.WhyError, "channel c is in error: wrong password; next try at 2026-03-01 09:00:00 UTC",
		},
		"one dispatch at a time": {
			[]func(*rig){oneByOne}, func(r *rig) { r.settle(); r.hold["receive"] = true; r.accept(text(1), text(1)) },
			operators.WhySendConcurrency, "channel c: 1 dispatches to the provider are under way, the limit at one time",
		},
		"down": {
			[]func(*rig){takes(isDown), oneByOne}, func(r *rig) { r.accept(text(1), text(1)) },
			operators.WhyFailing, "the provider fails; next try at 2026-03-01 09:00:00 UTC; down; 1 contact ahead",
		},
		"down for long": {
			[]func(*rig){takes(isDown), oneByOne}, func(r *rig) { r.accept(text(1)); r.pass(5 * time.Minute) },
			operators.WhyFaulted, "the provider keeps failing; next try at 2026-03-01 09:05:47 UTC; down",
		},
		"asked for a pause": {
			[]func(*rig){takes(isDown), func(r *rig) { r.prov.retry = time.Minute }}, func(r *rig) { r.accept(text(1)) },
			operators.WhyProviderPause, "the provider asked for a pause until 2026-03-01 09:01:00 UTC; down",
		},
		"probe": {
			[]func(*rig){takes(isDown), oneByOne}, func(r *rig) { r.accept(text(1), text(1)); r.hold["receive"] = true; r.pass(5 * time.Second) },
			operators.WhyProbing, "the provider failed; a single contact probes whether it works again; down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, c.change...)
			c.set(r)
			wantWhy(t, r.why(r.nextID-1), c.code, c.text)
		})
	}
}

// What a contact in flight waits for, of the process that runs the channel and of any
// other, which knows the row alone.
func TestWhy_ExplainsAContactInFlight(t *testing.T) {
	t.Parallel()
	canceling := "cancellation requested; its slots are held until the provider is certainly done with it"
	for name, c := range map[string]struct {
		manner manner
		hold   string
		set    func(*rig)
		code   operators.WhyCode
		text   string
		stored string // empty: the same
	}{
		"dispatching": {accepts, "receive", func(*rig) {}, operators.WhyDispatching, "being dispatched to the provider since 2026-03-01 09:00:00 UTC", ""},
		"active": {
			accepts, "", func(r *rig) { r.pass(time.Second) }, operators.WhyReport,
			"awaiting delivery report; next check at 2026-03-01 09:02:00 UTC; marked lost at 2026-03-01 10:00:00 UTC if still unknown", "",
		},
		"active, reported on": {
			accepts, "", func(r *rig) { r.pass(time.Second); r.report(weir.Report{Attempt: r.sent[0], Part: weir.WholeContact}) }, operators.WhyReport,
			"awaiting delivery report; next check at 2026-03-01 09:04:00 UTC; marked lost at 2026-03-01 10:00:01 UTC if still unknown",
			"awaiting delivery report; next check at 2026-03-01 09:02:01 UTC; marked lost at 2026-03-01 10:00:01 UTC if still unknown",
		},
		"unknown": {
			loses, "", func(*rig) {}, operators.WhyUnknown,
			"the result of its dispatch was lost (timeout); next check at 2026-03-01 09:01:00 UTC; marked lost at 2026-03-01 10:00:00 UTC if still unknown",
			"the result of its dispatch was lost (timeout); marked lost at 2026-03-01 10:00:00 UTC if still unknown",
		},
		"canceling":          {accepts, "cancel", func(r *rig) { r.cancelContact(1) }, operators.WhyCanceling, canceling, ""},
		"canceling, unknown": {loses, "", func(r *rig) { r.cancelContact(1) }, operators.WhyCanceling, canceling, ""},
		"cancel too late": {
			accepts, "", func(r *rig) {
				r.canceled = func(channels.Attempt) *channels.Cancellation { return &channels.Cancellation{} }
				r.cancelContact(1)
			}, operators.WhyReport, "cancellation came too late; awaiting delivery report", canceling,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, takes(c.manner))
			if c.hold != "" {
				r.hold[c.hold] = true
			}
			r.accept(text(1))
			c.set(r)
			wantWhy(t, r.why(1), c.code, c.text)
			row, stored := r.store[1], c.stored
			if stored == "" {
				stored = c.text
			}
			code := c.code
			if stored == canceling {
				code = operators.WhyCanceling
			}
			wantWhy(t, contacts.WhyStored(r.cfg, &r.ch, 1, &row), code, stored)
		})
	}
}

// The row that is explained may be older than what the broker knows.
func TestWhy_ExplainsAnOldRow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(text(1))
	row := r.store[1]
	r.ends(1, weir.Completed)
	wantWhy(t, r.core.Why(&row, r.now), "", "")
	takes(isDown)(r)
	r.hold["receive"] = true
	r.accept(text(1))
	row = r.store[2]
	delete(r.hold, "receive")
	r.settle()
	r.pause(true)
	wantState(t, r, 2, weir.Queued)
	wantWhy(t, r.core.Why(&row, r.now), operators.WhyPaused, "channel c is paused")
}

// Why a channel starts nothing, by its broker and by any other process, which knows the
// row and the figures alone.
func TestWhy_ExplainsWhyAChannelStartsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change []func(*rig)
		specs  []weir.Spec
		code   operators.WhyCode
		text   string
		stored operators.WhyCode
		other  string
	}{
		"nothing waits":            {nil, []weir.Spec{text(1)}, "", "", "", ""},
		"paused":                   {[]func(*rig){paused}, []weir.Spec{text(1)}, operators.WhyPaused, "channel c is paused", operators.WhyPaused, "channel c is paused"},
		"nothing waits and paused": {[]func(*rig){paused}, nil, "", "", "", ""},
		"full":                     {nil, []weir.Spec{text(2), text(1)}, operators.WhyCapacity, "channel c: 2 of 2 slots in use", operators.WhyCapacity, "channel c: 2 of 2 slots in use"},
		"reserved": {
			[]func(*rig){reserve(1)}, []weir.Spec{text(1), text(1)}, operators.WhyReplyReserve, "channel c: 1 of 2 slots in use; the free ones are kept for replies",
			operators.WhyReplyReserve, "channel c: 1 of 2 slots in use; the free ones are kept for replies",
		},
		"too large": {nil, []weir.Spec{text(3), text(4)}, operators.WhyTooLarge, "2 contacts are larger than the capacity of channel c, which is 2", "", ""},
		"too large beside the reserve": {
			[]func(*rig){reserve(1)}, []weir.Spec{text(2)}, operators.WhyTooLarge, "1 contacts are larger than the capacity of channel c, which is 2, 1 of them kept for replies", "", "",
		},
		"not yet": {
			nil, []weir.Spec{with(text(1), func(s *weir.Spec) { s.NotBefore = start.Add(time.Hour) })},
			operators.WhyNotBefore, "the next contact is due at 2026-03-01 10:00:00 UTC", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, c.change...)
			r.accept(c.specs...)
			wantWhy(t, r.core.WhyNext(r.now), c.code, c.text)
			wantWhy(t, contacts.WhyNextStored(&r.ch, r.core.Figures()), c.stored, c.other)
		})
	}
}

// Why a contact waits whose channel's broker has no core.
func TestWhyStored_ExplainsAContactWithoutABroker(t *testing.T) {
	t.Parallel()
	open := weir.Channel{Name: "c", Capacity: 2}
	paused := weir.Channel{Name: "c", Capacity: 2, Paused: true}
	queued := weir.Progress{State: weir.Queued}
	for name, c := range map[string]struct {
		ch       weir.Channel
		inFlight int
		progress weir.Progress
		messages int
		code     operators.WhyCode
		text     string
	}{
		"its turn":             {open, 1, queued, 1, operators.WhyTurn, "queued; the channel's broker is starting"},
		"full":                 {open, 2, queued, 1, operators.WhyCapacity, "channel c: 2 of 2 slots in use"},
		"full and paused":      {paused, 2, queued, 1, operators.WhyPaused, "channel c is paused"},
		"too large and paused": {paused, 0, queued, 3, operators.WhyTooLarge, "it takes 3 slots and channel c has 2; raise the capacity, or cancel it"},
		"not yet and paused":   {paused, 0, weir.Progress{State: weir.Delayed, DueAt: start}, 1, operators.WhyNotBefore, "its window opens at 2026-03-01 09:00:00 UTC"},
		"retry and paused":     {paused, 0, weir.Progress{State: weir.Delayed, DueAt: start, Attempt: 1}, 1, operators.WhyRetry, "attempt 2 is due at 2026-03-01 09:00:00 UTC"},
		"done":                 {paused, 0, weir.Progress{State: weir.Done, CancelRequested: true}, 1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contact := weir.Contact{Spec: text(c.messages), Progress: c.progress}
			wantWhy(t, contacts.WhyStored(config(), &c.ch, c.inFlight, &contact), c.code, c.text)
		})
	}
}
