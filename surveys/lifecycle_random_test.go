package surveys_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/surveys"
	"weir/surveys/calendar"
)

// fakeChannel reports on a respondent's contacts as a channel's broker does: in any
// order, late and twice.
type fakeChannel struct {
	t       *rapid.T
	pl      *surveys.Plan
	p       surveys.Progress
	now     time.Time
	open    map[int]surveys.Outreach // not ended
	out     map[int]bool             // accepted by the provider
	sent    map[surveys.Mode]int
	serial  int
	counted int
	ended   int
}

func (c *fakeChannel) apply(p surveys.Progress, e surveys.Effects) {
	before := c.p
	if before.Status.Final() && (p.Status != before.Status || p.Disposition != before.Disposition || e.Enqueue != nil || e.Finished) {
		c.t.Fatalf("%s, %s goes on: %+v, %+v", before.Status, before.Disposition, p, e)
	}
	if !before.Disposition.CanBecome(p.Disposition) && before.Disposition != p.Disposition {
		c.t.Fatalf("%s became %s", before.Disposition, p.Disposition)
	}
	was, is := surveys.Respondent{Progress: before}, surveys.Respondent{Progress: p}
	if !is.CameTo(was.FurthestStep()) {
		c.t.Fatalf("had come to %q, %s; then %q, %s", was.FurthestStep(), before.Disposition, is.FurthestStep(), p.Disposition)
	}
	if (p.Status == surveys.Active) == p.DueAt.IsZero() {
		c.t.Fatalf("%s with the next step at %v", p.Status, p.DueAt)
	}
	if p.Tries < 0 || p.Tries > c.pl.Retries[c.pl.Mode(p)].Attempts() || min(p.Attempts.IVR, p.Attempts.SMS) < 0 || c.pl.AttemptsMade(p).Total() < 0 {
		c.t.Fatalf("tries beyond the ladder: %+v", p)
	}
	if e.Finished != (!before.Status.Final() && p.Status.Final()) {
		c.t.Fatalf("finished %v: %s became %s", e.Finished, before.Status, p.Status)
	}
	if p.Counted && !before.Counted {
		c.counted++
	}
	if e.Finished {
		c.ended++
	}
	c.p = p
	if o := e.Enqueue; o != nil {
		w, ok := c.pl.Schedule.Window(o.NotBefore)
		if !ok || !w.Close.Equal(o.NotAfter) || o.NotBefore.Before(c.now) || !c.pl.Schedule.Contains(o.NotBefore) {
			c.t.Fatalf("at %v a contact from %v to %v; the window is %v", c.now, o.NotBefore, o.NotAfter, w)
		}
		if o.Serial <= c.serial || len(c.open) > 0 {
			c.t.Fatalf("contact %d while %v are open", o.Serial, c.open)
		}
		c.serial, c.open[o.Serial] = o.Serial, *o
	}
	if _, ok := c.open[e.Cancel]; e.Cancel != 0 && !ok {
		c.t.Fatalf("contact %d is withdrawn, and is over", e.Cancel)
	}
}

// report reports an event of an open contact.
func (c *fakeChannel) report() {
	for serial, o := range c.open {
		if !c.out[serial] && rapid.Bool().Draw(c.t, "out") && !c.now.Before(o.NotBefore) && c.now.Before(o.NotAfter) {
			c.out[serial] = true
			c.sent[o.Mode]++
			c.apply(c.pl.ContactAccepted(c.p, c.now, serial))
			return
		}
		outcomes := []weir.Outcome{weir.Canceled}
		if c.out[serial] {
			outcomes = []weir.Outcome{weir.Completed, weir.NoAnswer, weir.Failed, weir.Lost}
		}
		if !c.now.Before(o.NotAfter) && !c.out[serial] {
			outcomes = []weir.Outcome{weir.Expired}
		}
		delete(c.open, serial)
		c.apply(c.pl.ApplyOutcome(c.p, c.now, serial, rapid.SampledFrom(outcomes).Draw(c.t, "outcome")))
		return
	}
}

func (c *fakeChannel) reply() {
	d := rapid.SampledFrom(append(surveys.Dispositions(), "")).Draw(c.t, "disposition")
	serial := 0
	if c.out[c.serial] {
		serial = rapid.SampledFrom([]int{0, c.serial}).Draw(c.t, "serial")
	}
	if p, e, err := c.pl.Replied(c.p, c.now, serial, d); err == nil {
		c.apply(p, e)
	}
}

// Whatever happens, in any order: no respondent is contacted outside a window, after
// the last retry or after the end; at most one contact is open at a time; every
// respondent that is not final has a next step; and all end.
func TestRespondent_EndsWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := definition()
		d.Schedule = drawSchedule(t)
		d.CountPartial = rapid.Bool().Draw(t, "partial")
		d.Modes[surveys.IVR] = surveys.ModeSpec{Channel: "calls", Retries: rapid.SampledFrom([]string{"", "10m", "10m 2h", "1d 1d 1d"}).Draw(t, "retries")}
		d.Arms[0].Modes = rapid.SampledFrom([][]surveys.Mode{{surveys.IVR}, {surveys.SMS}, {surveys.IVR, surveys.SMS}, {surveys.SMS, surveys.IVR}}).Draw(t, "modes")
		c := &fakeChannel{
			t: t, pl: plan(t, d), p: surveys.NewProgress(), now: start(),
			open: map[int]surveys.Outreach{}, out: map[int]bool{}, sent: map[surveys.Mode]int{},
		}
		p, e, err := c.pl.Start(c.p, c.now, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.apply(p, e)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 12*60).Draw(t, "minutes")) * time.Minute)
			switch rapid.IntRange(-1, 12).Draw(t, "what") {
			case -1:
				c.apply(c.pl.OptOut(c.p))
			case 0:
				c.reply()
			case 1:
				c.apply(c.pl.ApplyOutcome(c.p, c.now, c.serial-1, weir.Completed))
			case 2, 3, 4, 5, 6, 7:
				c.report()
			case 8:
				c.apply(c.pl.DeferFailed(c.p, c.now, 0.3))
			default:
				c.apply(c.pl.Timeout(c.p, c.now))
			}
		}
		c.runToEnd()
	})
}

// runToEnd advances the time with a channel that reaches no respondent.
func (c *fakeChannel) runToEnd() {
	for steps := 0; c.p.Status == surveys.Active || len(c.open) > 0; steps++ {
		if steps > 500 {
			c.t.Fatalf("it never ends: %+v", c.p)
		}
		for serial, o := range c.open {
			c.now = slices.MaxFunc([]time.Time{c.now, o.NotBefore}, time.Time.Compare)
			outcome := weir.NoAnswer
			switch {
			case c.p.Status != surveys.Active || c.p.Contact == surveys.Canceling:
				outcome = weir.Canceled
			case c.out[serial]:
			case c.now.Before(o.NotAfter):
				c.out[serial] = true
				c.sent[o.Mode]++
				c.apply(c.pl.ContactAccepted(c.p, c.now, serial))
			default:
				outcome = weir.Expired
			}
			delete(c.open, serial)
			c.apply(c.pl.ApplyOutcome(c.p, c.now, serial, outcome))
		}
		if len(c.open) == 0 {
			c.now = slices.MaxFunc([]time.Time{c.now, c.p.DueAt}, time.Time.Compare)
			c.apply(c.pl.Timeout(c.p, c.now))
		}
	}
	if c.ended != 1 || c.counted > 1 || c.p.Counted != (c.counted == 1) {
		c.t.Fatalf("ended %d times, counted %d times: %+v", c.ended, c.counted, c.p)
	}
	for mode, n := range c.sent {
		if n > c.pl.Retries[mode].Attempts() {
			c.t.Fatalf("%d contacts by %s, the ladder is %v", n, mode, c.pl.Retries[mode])
		}
	}
}

// drawSchedule draws a schedule without dates, in one of several zones.
func drawSchedule(t *rapid.T) calendar.ScheduleSpec {
	zone := rapid.SampledFrom([]string{"UTC", "America/Mexico_City", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "America/Havana"}).Draw(t, "zone")
	spec := calendar.ScheduleSpec{TimeZone: zone, Weekdays: rapid.SliceOfNDistinct(rapid.SampledFrom(office("UTC").Weekdays), 1, 7, rapid.ID).Draw(t, "days")}
	ends := rapid.SliceOfNDistinct(rapid.IntRange(0, 96), 2, 6, rapid.ID).Draw(t, "quarters of an hour")
	slices.Sort(ends)
	for i := 0; i+1 < len(ends); i += 2 {
		spec.Windows = append(spec.Windows, calendar.WindowSpec{From: calendar.Clock(15 * ends[i]).String(), To: calendar.Clock(15 * ends[i+1]).String()})
	}
	spec.BlockedDays = []string{time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "blocked"), 0).Format(time.DateOnly)}
	return spec
}
