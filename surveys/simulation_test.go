package surveys_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/surveys/pacing"
)

// simulation simulates two equal surveys over one channel, minute by minute, with nothing
// but the rules of this package.
type simulation struct {
	t        *testing.T
	chance   *rand.Rand
	now      time.Time
	capacity int
	surveys  []*simulatedSurvey
	queue    []ticket // of the channel
	flying   []ticket
	share    pacing.FairShare
	meter    pacing.RateMeter
	ended    int // since the last poll
	expired  int
	sent     int
}

type simulatedSurvey struct {
	pl      *surveys.Plan
	people  []surveys.Progress
	minute  pacing.MinuteLimit
	begun   []time.Time // first attempts and retries
	granted int         // while both wanted more
}

type ticket struct {
	survey, person int
	surveys.Outreach
	until time.Time // in flight: when it ends
}

func (w *simulation) apply(s, i int, p surveys.Progress, e surveys.Effects) {
	r := w.surveys[s]
	if o := e.Enqueue; o != nil {
		if p.Tries != r.people[i].Tries || p.Step != r.people[i].Step {
			r.begun = append(r.begun, w.now)
		}
		w.queue = append(w.queue, ticket{survey: s, person: i, Outreach: *o})
	}
	if e.Cancel != 0 || e.Overdue != 0 {
		w.t.Errorf("no respondent answers and no contact is lost: %+v", e)
	}
	r.people[i] = p
}

// deliver ends contacts whose time is up, expires late ones, and dispatches as many
// as there is room for.
func (w *simulation) deliver() {
	flying := w.flying
	w.flying = nil
	for _, c := range flying {
		if c.until.After(w.now) {
			w.flying = append(w.flying, c)
			continue
		}
		w.ended++
		outcome := []weir.Outcome{weir.Completed, weir.NoAnswer, weir.Busy, weir.Lost}[w.chance.IntN(4)]
		p, e := w.surveys[c.survey].pl.ApplyOutcome(w.surveys[c.survey].people[c.person], w.now, c.Serial, outcome)
		if outcome == weir.Completed && w.chance.IntN(3) == 0 && p.Status == surveys.Active {
			var err error
			if p, e, err = w.surveys[c.survey].pl.Replied(p, w.now, c.Serial, surveys.Complete); err != nil {
				w.t.Error(err)
			}
		}
		w.apply(c.survey, c.person, p, e)
	}
	queue := w.queue
	w.queue = nil
	for _, c := range queue {
		r := w.surveys[c.survey]
		switch {
		case !w.now.Before(c.NotAfter):
			w.expired++
			p, e := r.pl.ApplyOutcome(r.people[c.person], w.now, c.Serial, weir.Expired)
			w.apply(c.survey, c.person, p, e)
		case len(w.flying) >= w.capacity || w.now.Before(c.NotBefore):
			w.queue = append(w.queue, c)
		default:
			if !r.pl.Schedule.Contains(w.now) || r.people[c.person].Status.Final() {
				w.t.Errorf("at %v a respondent is contacted that should not be", w.now)
			}
			w.sent++
			c.until = w.now.Add(time.Duration(1+w.chance.IntN(4)) * time.Minute)
			w.flying = append(w.flying, c)
			p, e := r.pl.ContactAccepted(r.people[c.person], w.now, c.Serial)
			w.apply(c.survey, c.person, p, e)
		}
	}
}

func (r *simulatedSurvey) tally() (t surveys.Tally) {
	for _, p := range r.people {
		switch {
		case p.Status == surveys.Pending:
			t.Pending++
		case p.Status == surveys.Active:
			t.Active++
		case p.Disposition == surveys.Complete:
			t.Completed, t.Counted = t.Completed+1, t.Counted+1
		}
		if p.Disposition.Final() {
			t.Final++
		}
	}
	return t
}

// poll gives each survey its share of the channel's room.
func (w *simulation) poll() {
	w.meter, w.ended = w.meter.Observe(w.now, w.ended), 0
	claims, rooms := make([]pacing.Claim, len(w.surveys)), make([]int, len(w.surveys))
	due := make([][]int, len(w.surveys))
	waiting := 0
	for _, c := range w.queue {
		if !c.NotBefore.After(w.now) {
			waiting++
		}
	}
	for s, r := range w.surveys {
		claims[s] = pacing.Claim{Survey: fmt.Sprint(s), Weight: r.pl.Weight}
		window, ok := r.pl.Schedule.Window(w.now)
		if !ok || window.Open.After(w.now) {
			continue
		}
		for i, p := range r.people {
			if p.Due(w.now) {
				due[s] = append(due[s], i)
			}
		}
		flow := pacing.ChannelLoad{Capacity: w.capacity, InFlight: len(w.flying), Queued: waiting, Rate: w.meter.PerMinute()}
		rooms[s], _ = flow.Room(1, time.Minute, window.Close.Sub(w.now))
		claims[s].Wants = min(rooms[s], len(due[s])+r.pl.Decide(w.now, r.tally()).ToStart)
	}
	var shares []int
	shares, w.share = w.share.Share(slices.Max(rooms), claims)
	for s, r := range w.surveys {
		if claims[0].Wants >= shares[0]+shares[1] && claims[1].Wants >= shares[0]+shares[1] {
			r.granted += shares[s]
		}
		budget := min(shares[s], r.minute.Left(w.now, r.pl.LimitPerMinute))
		retries, starts := pacing.SplitBudget(budget, len(due[s]), r.pl.Decide(w.now, r.tally()).ToStart)
		r.minute.Add(w.now, retries+starts)
		for _, i := range due[s][:retries] {
			p, e := r.pl.Timeout(r.people[i], w.now)
			w.apply(s, i, p, e)
		}
		for i := 0; i < len(r.people) && starts > 0; i++ {
			if r.people[i].Status == surveys.Pending {
				starts--
				p, e, err := r.pl.Start(r.people[i], w.now, surveys.ChooseArm(r.pl.Arms, w.chance.Float64()))
				if err != nil {
					w.t.Error(err)
				}
				w.apply(s, i, p, e)
			}
		}
	}
}

// Scenarios 18, 25, 77, 81 to 83 combined, over both clock changes: two equal surveys
// get equal shares, almost nothing expires, the limit holds, and every respondent
// ends.
func TestSimulation_EqualSurveysShareAndEnd(t *testing.T) {
	t.Parallel()
	for zone, begins := range map[string][2]string{ // half a day before the clock change
		"Europe/Berlin":       {"2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"},
		"America/New_York":    {"2026-03-07T18:00:00Z", "2026-10-31T18:00:00Z"},
		"Australia/Lord_Howe": {"2026-04-04T03:00:00Z", "2026-10-03T03:00:00Z"},
		"Africa/Casablanca":   {"2026-02-14T14:00:00Z", "2026-03-21T14:00:00Z"},
		"UTC":                 {"2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z"},
	} {
		for i, begin := range begins {
			t.Run(zone+" "+begin, func(t *testing.T) {
				t.Parallel()
				from, err := time.Parse(time.RFC3339, begin)
				if err != nil {
					t.Fatal(err)
				}
				d := smsOnly([]string{"10m", "10m 2h"}[i])
				d.Schedule = office(zone, calendar.WindowSpec{From: "01:30", To: "02:30"}, calendar.WindowSpec{From: "09:00", To: "12:00"}, calendar.WindowSpec{From: "22:00", To: "24:00"})
				d.LimitPerMinute = 1 + i
				w := &simulation{t: t, chance: rand.New(rand.NewPCG(uint64(len(zone)), uint64(i))), now: from, capacity: 1 + i}
				for range 2 {
					r := &simulatedSurvey{pl: plan(t, d)}
					for range 60 {
						r.people = append(r.people, surveys.NewProgress())
					}
					w.surveys = append(w.surveys, r)
				}
				if w.run(); w.now.Sub(from) < 20*time.Hour {
					t.Errorf("it is over at %v, before the clocks change", w.now)
				}
			})
		}
	}
}

func (w *simulation) run() {
	open, closings := false, 0
	done := func(r *simulatedSurvey) bool { return r.pl.Decide(w.now, r.tally()).Done }
	for minutes := 0; !done(w.surveys[0]) || !done(w.surveys[1]); minutes++ {
		if minutes > 20*24*60 {
			w.t.Fatalf("after 20 days: %+v", w.surveys[0].tally())
		}
		if is := w.surveys[0].pl.Schedule.Contains(w.now); is != open {
			if open = is; !open {
				closings++
			}
		}
		w.deliver()
		w.poll()
		w.now = w.now.Add(time.Minute)
	}
	for s, r := range w.surveys {
		for i, p := range r.people {
			if !p.Status.Final() || !p.Disposition.Final() || r.pl.AttemptsMade(p).Total() > r.pl.Retries[surveys.SMS].Attempts() {
				w.t.Errorf("respondent %d of survey %d ends as %+v", i, s, p)
			}
		}
		limit := r.pl.LimitPerMinute
		for i := range r.begun {
			if j := i + limit; j < len(r.begun) && r.begun[j].Sub(r.begun[i]) < time.Minute {
				w.t.Errorf("more than %d attempts within %v", limit, r.begun[j].Sub(r.begun[i]))
			}
		}
	}
	if a, b := w.surveys[0].granted, w.surveys[1].granted; max(a-b, b-a) > 3 {
		w.t.Errorf("two equal surveys were given %d and %d", a, b)
	}
	if w.expired > closings*w.capacity {
		w.t.Errorf("%d contacts expired at %d ends of windows, %d were sent", w.expired, closings, w.sent)
	}
}
