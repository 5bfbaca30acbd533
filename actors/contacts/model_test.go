package contacts_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
	"weir/operators"
)

// A history that fails is shortened for seconds, not for half a minute.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.shrinktime", "5s"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// history drives a rig at random.
type history struct {
	*rig
	t      *rapid.T
	faulty bool // providers and reads may fail
}

func (h *history) chance(percent int, label string) bool {
	return rapid.IntRange(0, 99).Draw(h.t, label) < percent
}

// TestModel_InvariantsHoldInAnyHistory runs random histories: whatever the events, their order and the
// crashes in between, the invariants hold after each event, and in the end every
// contact is done and no slot is taken.
func TestModel_InvariantsHoldInAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(map[string]func(*rapid.T){
			"accept":    h.acceptSome,
			"happen":    h.happen,
			"happens":   func(t *rapid.T) { h.happen(t); h.happen(t); h.happen(t); h.happen(t) },
			"settle":    func(*rapid.T) { h.settle(); h.working() },
			"time":      h.timePasses,
			"end":       h.anEnd,
			"cancel":    h.aCancel,
			"configure": h.aChange,
			"crash":     h.aCrash,
			"drain":     h.aDrain,
			"woken":     func(*rapid.T) { h.tell(func(c *contacts.Core, now time.Time) { c.Woken(now) }) },
			"noise":     h.noise,
		})
		h.finishAll()
	})
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, faulty: true}
	h.rig = newRig(t, rapid.IntRange(1, 8).Draw(t, "capacity"), func(r *rig) {
		r.cfg.SendConcurrency = rapid.IntRange(1, 4).Draw(t, "sends")
		r.cfg.AskConcurrency = rapid.IntRange(1, 3).Draw(t, "asks")
		r.prov.mute = rapid.Bool().Draw(t, "mute")
		if rapid.IntRange(0, 3).Draw(t, "at least once") == 0 {
			r.ch.Settings["at_least_once"] = true
			r.lossy = r.prov.mute
		}
		r.ch.Settings["reply_reserve"] = float64(rapid.IntRange(0, r.ch.Capacity-1).Draw(t, "reserve"))
		if rapid.Bool().Draw(t, "limited") {
			r.ch.Settings["rate_per_second"] = float64(rapid.IntRange(2, 20).Draw(t, "rate"))
			r.ch.Settings["burst"] = float64(rapid.IntRange(1, 6).Draw(t, "burst"))
		}
		r.manner = func(channels.Attempt) manner {
			if !h.faulty || h.chance(60, "well") {
				return accepts
			}
			return manner(rapid.IntRange(int(accepts), int(limits)).Draw(t, "manner"))
		}
		r.readErr = func() bool { return h.faulty && h.chance(10, "read fails") }
		r.askErr = func() bool { return h.faulty && h.chance(20, "ask fails") }
		r.canceled = h.cancellation
	})
	return h
}

func (h *history) cancellation(channels.Attempt) *channels.Cancellation {
	switch {
	case !h.faulty || h.chance(70, "cancel works"):
		return nil
	case h.chance(50, "cancel fails"):
		return &channels.Cancellation{Failed: true}
	default:
		return &channels.Cancellation{}
	}
}

func (h *history) acceptSome(t *rapid.T) {
	var specs []weir.Spec
	for range rapid.IntRange(1, 6).Draw(t, "contacts") {
		s := text(rapid.IntRange(1, 4).Draw(t, "size"))
		s.Priority = weir.Priority(rapid.IntRange(0, 2).Draw(t, "priority"))
		s.Survey = fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "survey"))
		if h.chance(25, "not before") {
			s.NotBefore = h.now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "in")) * time.Second)
		}
		if h.chance(15, "not after") {
			s.NotAfter = latest(h.now, s.NotBefore).Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "for")) * time.Second)
		}
		specs = append(specs, s)
	}
	if h.chance(50, "at once") {
		h.acceptAtOnce(specs, func() bool { return h.chance(90, "leased") }, func() bool { return h.chance(90, "stored") })
		return
	}
	list := h.insert(specs...)
	h.add(&job{what: "accepted", do: func() { h.tell(func(c *contacts.Core, now time.Time) { c.Accepted(list, now) }) }})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// happen runs one of the jobs under way, in any order.
func (h *history) happen(t *rapid.T) {
	list := h.runnable(nil)
	if len(list) == 0 {
		return
	}
	h.run(list[rapid.IntRange(0, len(list)-1).Draw(t, "which")])
}

func (h *history) timePasses(t *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 200_000).Draw(t, "ms")) * time.Millisecond
	if at := h.core.NextWake(h.now); h.chance(60, "to the next") && !at.IsZero() {
		d = at.Sub(h.now)
	}
	h.now = h.now.Add(d)
	h.endSome(func(string) bool { return h.chance(30, "callback is lost") })
	h.tick()
}

// endSome ends the attempts whose time is over; their reports may get lost.
func (h *history) endSome(lost func(string) bool) {
	for _, tk := range h.prov.busy() {
		if h.now.Before(tk.ends) {
			continue
		}
		for !tk.over {
			report := h.prov.end(tk, weir.Completed)
			if !lost("callback is lost") {
				h.reportLater(report)
			}
		}
	}
}

func (h *history) reportLater(report weir.Report) {
	h.add(&job{what: "callback", do: func() { h.callback(report) }})
}

// anEnd ends an attempt early, or a part of it, and reports that once or twice.
func (h *history) anEnd(t *rapid.T) {
	busy := h.prov.busy()
	if len(busy) == 0 {
		return
	}
	tk := busy[rapid.IntRange(0, len(busy)-1).Draw(t, "ticket")]
	if h.chance(25, "goes on") {
		h.reportLater(weir.Report{Attempt: tk.ref, Part: weir.WholeContact})
		return
	}
	o := rapid.SampledFrom([]weir.Outcome{weir.Completed, weir.Failed}).Draw(t, "outcome")
	report := h.prov.end(tk, o)
	for range rapid.IntRange(0, 2).Draw(t, "callbacks") {
		h.reportLater(report)
	}
	if o == weir.Failed && report.Part != weir.WholeContact && h.chance(30, "delivered after all") {
		tk.part[report.Part] = weir.PartDelivered
		h.reportLater(tk.partReport(report.Part))
	}
}

func (h *history) aCancel(t *rapid.T) {
	if h.nextID == 1 {
		return
	}
	id := weir.ContactID(rapid.IntRange(1, int(h.nextID)).Draw(t, "contact"))
	h.waiters++
	w := h.waiters
	h.tell(func(c *contacts.Core, now time.Time) {
		c.Cancel(weir.Ref{Channel: h.ch.ID, ID: id}, contacts.Origin{Waiter: -w}, now)
	})
}

func (h *history) aChange(t *rapid.T) {
	h.configure(func(ch *weir.Channel) {
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			ch.Paused = !ch.Paused
		case 1:
			ch.Capacity = rapid.IntRange(1, 8).Draw(t, "capacity")
			ch.Settings["reply_reserve"] = min(float64(ch.Capacity-1), ch.Settings["reply_reserve"].(float64))
		default:
			ch.Settings["reply_reserve"] = float64(rapid.IntRange(0, ch.Capacity-1).Draw(t, "reserve"))
		}
	})
}

func (h *history) aCrash(t *rapid.T) {
	if !h.chance(30, "really") {
		return
	}
	h.crash(rapid.Bool().Draw(t, "only the actor"), rapid.IntRange(0, 3).Draw(t, "written"), func(weir.AttemptRef) bool {
		return h.chance(50, "arrives")
	})
}

func (h *history) aDrain(*rapid.T) {
	if h.chance(10, "really") {
		h.tell((*contacts.Core).Drain)
		h.settle()
		if !h.drained {
			h.rig.t.Fatalf("everything has been answered and it is not drained")
		}
		h.crash(false, 1<<30, nil)
	}
}

// noise sends reports about attempts that were never made.
func (h *history) noise(t *rapid.T) {
	ref := weir.AttemptRef{Ref: weir.Ref{Channel: h.ch.ID, ID: 1 << 40}, Number: rapid.IntRange(1, 3).Draw(t, "number")}
	h.reportLater(weir.Report{Attempt: ref, Part: rapid.IntRange(-1, 1).Draw(t, "part"), Outcome: weir.Completed})
}

// working asserts, when nothing is under way, that no contact waits without a
// reason.
func (h *history) working() {
	f := h.core.Figures()
	if f.Health != weir.Up || f.InFlight > 0 || h.drained || h.prepares == 0 {
		return
	}
	if at := h.core.NextWake(h.now); !at.IsZero() && at.Sub(h.now) <= 2*time.Second {
		return // a failed read, or one that is due
	} else if !at.IsZero() && h.core.WhyNext(h.now).Code == operators.WhyRate {
		return
	}
	for _, c := range h.store.waiting() {
		if c.State == weir.Queued && c.Size() <= h.ch.Capacity-channels.ReplyReserve(h.ch.Settings) {
			h.rig.t.Fatalf("the channel is empty and contact %d (lane %v) is left waiting", c.ID, c.Lane())
		}
	}
}

// finishAll lets everything work again and asserts that all contacts finish.
func (h *history) finishAll() {
	h.faulty = false
	if h.drained {
		h.crash(false, 1<<30, nil)
	}
	h.configure(func(ch *weir.Channel) {
		ch.Paused, ch.Capacity, ch.Settings["reply_reserve"] = false, 8, 0.0
	})
	if rapid.IntRange(0, 4).Draw(h.t, "delete it") == 0 {
		h.deleteIt()
		return
	}
	until := h.now.Add(24 * time.Hour)
	for h.now.Before(until) {
		h.endSome(func(string) bool { return false })
		h.settle()
		h.working()
		if len(h.store.waiting())+len(h.store.inFlight()) == 0 {
			break
		}
		h.pass(20 * time.Second)
	}
	for _, c := range h.store.all() {
		if c.State != weir.Done || c.Outcome == "" {
			h.rig.t.Fatalf("contact %d has not come to its end: %v %+v", c.ID, c.State, c.Progress)
		}
	}
	f := h.core.Figures()
	if f.InFlight != 0 || f.Sending+f.Active+f.Unknown != 0 || f.Blocked != 0 {
		h.rig.t.Fatalf("all is done, and the figures say %+v", f)
	}
	h.pass(h.cfg.StopAfter + 15*time.Minute)
	if !h.rested || h.core.Busy() {
		h.rig.t.Fatalf("all is done and nothing happens, and it does not rest")
	}
}

// deleteIt asserts that a channel's deletion completes, whatever is open on it.
func (h *history) deleteIt() {
	h.configure(func(ch *weir.Channel) { ch.Deleting = true })
	h.pass(10 * time.Minute)
	for _, c := range h.store.all() {
		if c.State != weir.Done {
			h.rig.t.Fatalf("the channel is deleted and contact %d is %v", c.ID, c.State)
		}
	}
	if !h.removed {
		h.rig.t.Fatalf("nothing is open and the channel is not removed")
	}
}
