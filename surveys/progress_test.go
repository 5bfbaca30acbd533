package surveys_test

import (
	"strings"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/surveys"
)

// Why announces the step that Timeout then takes.
func TestProgress_WhyAnnouncesTheNextStep(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Schedule = office("America/Mexico_City")
	pl := plan(t, d)
	now := start().Add(6 * time.Hour) // Monday 12:00 local time
	due := now.Add(time.Hour)
	active := func(change func(*surveys.Progress)) surveys.Progress {
		p := surveys.Progress{Status: surveys.Active, Disposition: surveys.Contacted, Tries: 1, Serial: 1, DueAt: due}
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		p        surveys.Progress
		code     operators.WhyCode
		sentence string
	}{
		"another call":      {active(func(*surveys.Progress) {}), operators.WhyRetry, "attempt 2 by ivr is due at 2026-01-05 19:00:00 UTC (Mon 13:00 America/Mexico_City)"},
		"another mode":      {active(func(p *surveys.Progress) { p.Tries = 3 }), operators.WhyRetry, "the first attempt by sms is due at 2026-01-05 19:00:00 UTC"},
		"nothing left":      {active(func(p *surveys.Progress) { p.Step, p.Tries = 1, 2 }), operators.WhyAnswer, "waiting for an answer until 2026-01-05 19:00:00 UTC (Mon 13:00 America/Mexico_City)"},
		"an other schedule": {active(func(p *surveys.Progress) { p.DueAt = now.Add(10 * time.Hour) }), operators.WhyWindow, "when the schedule opens at 2026-01-06 15:00:00 UTC (Tue 09:00"},
		"delayed":           {active(func(p *surveys.Progress) { p.FailedSteps = 2 }), operators.WhyDelayed, "delayed until 2026-01-05 19:00:00 UTC"},
		"pending, delayed":  {surveys.Progress{Status: surveys.Pending, DelayedUntil: due}, operators.WhyDelayed, "delayed until 2026-01-05 19:00:00 UTC"},
		"due":               {active(func(p *surveys.Progress) { p.DueAt = now }), "", ""},
		"pending":           {surveys.NewProgress(), "", ""},
		"final":             {surveys.Progress{Status: surveys.Completed}, "", ""},
	} {
		if got := pl.Why(tt.p, now); got.Code != tt.code || !strings.Contains(got.Text(), tt.sentence) {
			t.Errorf("%s: %+v, want %s: %s", name, got, tt.code, tt.sentence)
		}
	}
}

func TestState_AllowsOnlyItsSteps(t *testing.T) {
	t.Parallel()
	// want holds the states after each step from draft, running, paused, stopping
	// and done; - means a conflict.
	for step, want := range map[surveys.Step][5]surveys.State{
		surveys.Launch: {"running", "running", "-", "-", "-"},
		surveys.Pause:  {"-", "paused", "paused", "-", "-"},
		surveys.Resume: {"-", "running", "running", "-", "-"},
		surveys.Stop:   {"-", "stopping", "stopping", "stopping", "done"},
		surveys.Finish: {"-", "done", "done", "done", "done"},
	} {
		for i, from := range surveys.States() {
			got, err := surveys.Apply(from, step)
			switch {
			case want[i] == "-" && (got != from || weir.CodeOf(err) != weir.CodeConflict):
				t.Errorf("%s of a survey that is %s: %s, %v", step, from, got, err)
			case want[i] != "-" && (got != want[i] || err != nil):
				t.Errorf("%s of a survey that is %s: %s, %v, want %s", step, from, got, err, want[i])
			}
		}
	}
	if _, err := surveys.Apply(surveys.Draft, "explode"); weir.CodeOf(err) != weir.CodeInvalid {
		t.Errorf("an unknown step: %v", err)
	}
}

// Only a running survey is locked. A locked one refuses the commands that would change
// it, until it is unlocked; its own end is no command.
func TestLock_RefusesCommandsUntilUnlocked(t *testing.T) {
	t.Parallel()
	const ok = weir.Code("")
	for _, from := range surveys.States() {
		want := weir.CodeConflict
		if from == surveys.Running {
			want = ok
		}
		got, err := surveys.Survey{State: from}.Command(surveys.Lock)
		if weir.CodeOf(err) != want || got.State != from || got.Locked != (want == ok) {
			t.Errorf("lock of a survey that is %s: %+v, %v", from, got, err)
		}
		if got, err := (surveys.Survey{State: from, Locked: true}).Command(surveys.Lock); err != nil || !got.Locked {
			t.Errorf("lock of a locked survey that is %s: %+v, %v", from, got, err)
		}
		for _, locked := range []bool{true, false} {
			if got, err := (surveys.Survey{State: from, Locked: locked}).Command(surveys.Unlock); err != nil || got.Locked || got.State != from {
				t.Errorf("unlock of a survey that is %s: %+v, %v", from, got, err)
			}
		}
		for _, step := range []surveys.Step{surveys.Launch, surveys.Pause, surveys.Resume, surveys.Stop} {
			to, want := surveys.Apply(from, step)
			if free, err := (surveys.Survey{State: from}).Command(step); free.State != to || weir.CodeOf(err) != weir.CodeOf(want) {
				t.Errorf("%s of a survey that is %s: %s, %v", step, from, free.State, err)
			}
			got, err := surveys.Survey{Name: "flu", State: from, Locked: true}.Command(step)
			switch {
			case got.State != from || !got.Locked:
				t.Errorf("%s of a locked survey that is %s: %+v", step, from, got)
			case want == nil && to != from && (weir.CodeOf(err) != weir.CodeLocked || !strings.Contains(err.Error(), "survey flu is locked")):
				t.Errorf("%s of a locked survey that is %s: %v", step, from, err)
			case (want != nil || to == from) && weir.CodeOf(err) != weir.CodeOf(want):
				t.Errorf("%s of a locked survey that is %s: %v, want %v", step, from, err, want)
			}
		}
	}
}

// Scenario 45: two running surveys have the same number. A message goes to the
// respondent of the channel that received it, then to the newest contact.
func TestFindSender_PrefersTheChannelThatReceived(t *testing.T) {
	t.Parallel()
	on := func(over string, minute float64, status surveys.Status, channels ...string) surveys.Sender {
		return surveys.Sender{Status: status, LastChannel: over, LastAccepted: at(minute), Channels: channels}
	}
	for _, tt := range []struct {
		name       string
		candidates []surveys.Sender
		want       int
	}{
		{"none", nil, -1},
		{"by channel", []surveys.Sender{on("1", 9, surveys.Active, "1"), on("2", 1, surveys.Active, "2")}, 1},
		{"by channel of the contact", []surveys.Sender{on("1", 9, surveys.Active, "1", "2"), on("2", 1, surveys.Active, "2")}, 1},
		{"by newest contact", []surveys.Sender{on("2", 1, surveys.Active, "2"), on("2", 9, surveys.Active, "2"), on("2", 5, surveys.Active, "2")}, 1},
		{"active before final", []surveys.Sender{on("2", 9, surveys.Completed, "2"), on("1", 1, surveys.Active, "1", "2"), on("", 0, surveys.Pending, "2")}, 1},
		{"final if there is no other", []surveys.Sender{on("2", 1, surveys.Completed, "2"), on("2", 9, surveys.Failed, "2")}, 1},
		{"no survey uses it", []surveys.Sender{on("1", 1, surveys.Active, "1")}, -1},
	} {
		if got := surveys.FindSender("2", tt.candidates); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// A message counts once, when an outbox entry reports that a provider has accepted it,
// and whatever is repeated.
func TestTotals_CountEachMessageOnce(t *testing.T) {
	t.Parallel()
	pl := plan(t, definition())
	contact := func(kind surveys.OutboxKind, serial, messages int) surveys.OutboxEntry {
		return surveys.OutboxEntry{Kind: kind, Owner: weir.Owner{Group: 1, ID: 2, Serial: serial}, Messages: messages}
	}
	message := surveys.OutboxEntry{Kind: surveys.MessageReceived}
	lasting := func(serial, seconds int) surveys.OutboxEntry {
		n := contact(surveys.ContactEnded, serial, 1)
		n.Result.CallSeconds = seconds
		return n
	}
	const sms, call = 1, 0
	for name, tt := range map[string]struct {
		step    int // of the arm: the mode
		was     surveys.Totals
		entries []surveys.OutboxEntry
		want    surveys.Totals
	}{
		"accepted":          {sms, surveys.Totals{}, []surveys.OutboxEntry{contact(surveys.ContactAccepted, 3, 2)}, surveys.Totals{Sent: 2, Serial: 3}},
		"the end is first":  {sms, surveys.Totals{Sent: 1, Serial: 2}, []surveys.OutboxEntry{contact(surveys.ContactEnded, 3, 2)}, surveys.Totals{Sent: 3, Serial: 3}},
		"repeated, ended":   {sms, surveys.Totals{}, []surveys.OutboxEntry{contact(surveys.ContactAccepted, 3, 2), contact(surveys.ContactAccepted, 3, 2), contact(surveys.ContactEnded, 3, 2)}, surveys.Totals{Sent: 2, Serial: 3}},
		"not accepted":      {sms, surveys.Totals{}, []surveys.OutboxEntry{contact(surveys.ContactEnded, 3, 0)}, surveys.Totals{}},
		"an older contact":  {sms, surveys.Totals{Sent: 1, Serial: 1}, []surveys.OutboxEntry{contact(surveys.ContactEnded, 2, 2)}, surveys.Totals{Sent: 1, Serial: 1}},
		"notes of a call":   {call, surveys.Totals{}, []surveys.OutboxEntry{contact(surveys.ContactAccepted, 3, 2)}, surveys.Totals{}},
		"replies":           {call, surveys.Totals{Sent: 1, Serial: 3}, []surveys.OutboxEntry{contact(surveys.ContactAccepted, 0, 2), contact(surveys.ContactEnded, 0, 1)}, surveys.Totals{Sent: 4, Serial: 3}},
		"seconds of calls":  {call, surveys.Totals{CallSeconds: 5}, []surveys.OutboxEntry{lasting(2, 10), lasting(3, 20)}, surveys.Totals{CallSeconds: 35}},
		"messages received": {call, surveys.Totals{}, []surveys.OutboxEntry{message, message}, surveys.Totals{Received: 2}},
	} {
		p := surveys.Progress{Status: surveys.Active, Step: tt.step, Serial: 3, Totals: tt.was}
		for _, n := range tt.entries {
			p.Totals = pl.AddTotals(p, &n)
		}
		if p.Totals != tt.want {
			t.Errorf("%s: %+v, want %+v", name, p.Totals, tt.want)
		}
	}
}
