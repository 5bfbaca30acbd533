package surveys_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/channels"
	"weir/internal/race"
	"weir/surveys"
	"weir/surveys/calendar"
)

// simulation is one run: surveys over days of virtual time, with every kind of
// failure.
type simulation struct {
	*lab
	seed          uint64
	chance        *rand.Rand // of the script, which runs on one goroutine
	begin         time.Time
	plans         map[int64]*surveys.Plan
	twins         [2]int64
	other         int64
	ended         map[surveys.RespondentID]bool
	attempts      map[surveys.RespondentID]surveys.Counts // attempts that were made
	open          map[surveys.RespondentID]bool           // a contact is in flight
	messages      map[surveys.RespondentID]int            // messages that the providers accepted
	contacted     map[surveys.RespondentID]bool           // a provider accepted a contact
	proven        map[surveys.RespondentID]bool           // a contact ended in a way that proves that the provider had it
	unreported    map[surveys.RespondentID]bool           // the acceptance of a contact was not reported
	endUnreported map[string]bool                         // the end of a contact was not reported; by its key
	received      map[string]int                          // messages, by sender
	enqueued      map[int64]int                           // contacts enqueued, by survey
	enqueuedApart [2]int                                  // given of the twins, when the first has no respondent left to start
	instant       time.Time
	bothStarting  bool // both still have respondents to start
	paused        map[int64]time.Time
	lostEnds      int // ends that were not reported
	failures      []string
	process       atomic.Pointer[reporter]
	crashes       int
}

type reporter struct {
	report func(surveys.Survey, surveys.RespondentID, surveys.Report) error
}

// clockChanges returns half a day before clock changes, in zones with different
// rules.
func clockChanges() [][2]string {
	return [][2]string{
		{"Europe/Berlin", "2026-03-28T12:00:00Z"}, {"Europe/Berlin", "2026-10-24T12:00:00Z"},
		{"America/New_York", "2026-03-07T18:00:00Z"}, {"America/New_York", "2026-10-31T18:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T03:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T03:00:00Z"},
		{"America/Santiago", "2026-04-04T15:00:00Z"}, {"America/Santiago", "2026-09-05T15:00:00Z"},
		{"Asia/Kathmandu", "2026-06-01T00:00:00Z"}, {"Africa/Casablanca", "2026-02-14T14:00:00Z"},
		{"Africa/Casablanca", "2026-03-21T14:00:00Z"}, {"UTC", "2026-12-30T00:00:00Z"},
	}
}

func TestSimulations(t *testing.T) {
	first, runs := uint64(1), 20
	if race.Enabled { // all of them run without it
		runs = 5
	}
	if n, err := strconv.Atoi(environment("WEIR_TEST_SIMULATIONS")); err == nil {
		runs = n
	}
	if seed, err := strconv.ParseUint(environment("WEIR_TEST_SEED"), 10, 64); err == nil {
		first, runs = seed, 1
	}
	t.Logf("seeds %d to %d; a failing one replays with WEIR_TEST_SEED", first, first+uint64(runs)-1)
	for seed := first; seed < first+uint64(runs); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	change := clockChanges()[seed%uint64(len(clockChanges()))]
	begin, err := time.Parse(time.RFC3339, change[1])
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(begin))
	s := &simulation{
		seed: seed, chance: rand.New(rand.NewPCG(seed, 1)), begin: begin, plans: map[int64]*surveys.Plan{}, ended: map[surveys.RespondentID]bool{},
		attempts: map[surveys.RespondentID]surveys.Counts{}, open: map[surveys.RespondentID]bool{},
		messages: map[surveys.RespondentID]int{}, contacted: map[surveys.RespondentID]bool{}, proven: map[surveys.RespondentID]bool{}, unreported: map[surveys.RespondentID]bool{}, endUnreported: map[string]bool{}, received: map[string]int{}, enqueued: map[int64]int{}, paused: map[int64]time.Time{}, bothStarting: true,
	}
	s.lab = newLab(t, s.resultOf)
	s.roundInterval, s.checkEvery = 30*time.Minute, 20*time.Minute
	s.channels.onDispatch, s.channels.onConversation, s.channels.onEnd, s.store.onMove = s.onDispatch, s.onConversation, s.onEnd, s.onMove
	s.store.addChannel("calls", "voice", 1+s.chance.IntN(4))
	s.store.addChannel("texts", "text", 1+s.chance.IntN(4))
	s.populate(change[0])
	s.startProcess()
	s.launch()
	s.runScript()
	s.checkAll()
	s.system.Close()
	s.channels.dispatchNothing = true
	synctest.Wait()
	for _, w := range s.failures[:min(len(s.failures), 10)] {
		t.Errorf("seed %d: %s", seed, w)
	}
}

func (s *simulation) startProcess() {
	sys := s.start()
	s.process.Store(&reporter{func(sv surveys.Survey, id surveys.RespondentID, h surveys.Report) error {
		_, err := sys.Report(context.Background(), sv, id, h)
		return err
	}})
}

// launch launches the surveys before a round reads any of them: a round between
// the launches of the twins would rightly give all room to the first.
func (s *simulation) launch() {
	s.store.locked(func() {
		s.store.failOperation = func(operation string) error {
			if operation == "Surveys" {
				return &weir.Error{Code: weir.CodeUnavailable, Message: "not yet"}
			}
			return nil
		}
	})
	for _, sv := range s.store.surveys {
		s.command(sv.Name, surveys.Launch)
	}
	s.store.locked(func() { s.store.failOperation = nil })
}

// populate adds two equal surveys, and one of another kind in another zone.
func (s *simulation) populate(zone string) {
	d := s.definition(zone)
	n := 15 + s.chance.IntN(25)
	for i := range s.twins {
		s.twins[i] = s.add(fmt.Sprint("twin", i), d, n)
	}
	other := clockChanges()[s.chance.IntN(len(clockChanges()))][0]
	d = s.definition(other)
	d.Weight = 1 + s.chance.IntN(3)
	switch s.chance.IntN(3) {
	case 0:
		d.Cutoff = 1 + s.chance.IntN(10)
	case 1:
		d.Quotas = surveys.Quotas{
			{Where: map[string]surveys.Match{"age": {In: []string{"young"}}}, Quota: 1 + s.chance.IntN(8)},
			{Where: map[string]surveys.Match{"age": {In: []string{"old"}}}, Quota: 1 + s.chance.IntN(8)},
		}
	}
	d.LimitPerMinute = 1 + s.chance.IntN(5)
	s.other = s.add("other", d, 5+s.chance.IntN(30))
}

func (s *simulation) add(name string, d surveys.Definition, n int) int64 {
	sv := s.addSurvey(name, d, n)
	plan, wrong := d.Compile(surveys.Defaults{Batch: 10000, LimitPerMinute: 1000, InitialSuccessRate: 1})
	if plan == nil {
		s.t.Fatal(wrong)
	}
	s.plans[sv.ID] = plan
	s.store.locked(func() { s.store.surveys[sv.ID].Application.URL = "https://app.test" })
	return sv.ID
}

func (s *simulation) definition(zone string) surveys.Definition {
	schedules := []string{"", "10m", "10m 2h", "30m 3h 8h", "5m 5m 1h 1d"}
	d := callSurvey(schedules[s.chance.IntN(len(schedules))], schedules[s.chance.IntN(len(schedules))])
	if s.chance.IntN(3) == 0 {
		d = smsSurvey(schedules[s.chance.IntN(len(schedules))])
	}
	d.Schedule.TimeZone = zone
	windows := [][]calendar.WindowSpec{
		{{From: "09:00", To: "18:00"}}, {{From: "01:30", To: "02:30"}, {From: "10:00", To: "12:00"}, {From: "22:00", To: "24:00"}},
		{{From: "00:00", To: "24:00"}}, {{From: "00:00", To: "06:00"}, {From: "20:00", To: "24:00"}}, {{From: "02:00", To: "03:00"}, {From: "12:00", To: "20:00"}},
	}
	d.Schedule.Windows = windows[s.chance.IntN(len(windows))]
	loc, err := time.LoadLocation(zone)
	if err != nil {
		s.t.Fatal(err)
	}
	today := s.begin.In(loc)
	d.Schedule.EndDate = today.AddDate(0, 0, 3+s.chance.IntN(2)).Format(time.DateOnly)
	if s.chance.IntN(3) == 0 {
		d.Schedule.BlockedDays = []string{today.AddDate(0, 0, 1).Format(time.DateOnly)}
	}
	d.FallbackDelay = []string{"30m", "2h"}[s.chance.IntN(2)]
	d.CountPartial = s.chance.IntN(2) == 0
	return d
}

// randomFor returns the random numbers of one contact, independent of the order of
// calls.
func (s *simulation) randomFor(key string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(key)) // a hash never returns an error
	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}

func (s *simulation) resultOf(c weir.Contact) contactResult {
	r := s.randomFor(c.Key)
	f := contactResult{duration: time.Duration(20+r.IntN(600)) * time.Second, twice: r.IntN(6) == 0, acceptedLost: r.IntN(50) == 0, endLost: r.IntN(50) == 0}
	f.outcome = []weir.Outcome{weir.Completed, weir.Completed, weir.NoAnswer, weir.Busy, weir.Failed, weir.Lost, weir.Expired}[r.IntN(7)]
	if f.outcome == weir.Lost {
		f.duration = time.Hour
	}
	if c.Call == nil && r.IntN(4) == 0 {
		f.duration = time.Duration(r.IntN(180)) * time.Minute
	}
	if f.endLost {
		s.lostEnds++
		s.endUnreported[c.Key] = true
	}
	if f.acceptedLost {
		s.unreported[surveys.RespondentID(c.Owner.ID)] = true
	}
	if f.outcome != weir.Completed {
		return f
	}
	switch r.IntN(4) {
	case 0:
		f.message, f.messageAt = []string{"yes", "STOP", "no"}[r.IntN(3)], time.Duration(r.IntN(240))*time.Minute
	case 1, 2:
		d := []surveys.Disposition{surveys.Complete, surveys.Complete, surveys.Started, surveys.Partial, surveys.Refused, surveys.InterimPartial, surveys.Ineligible}
		f.reports, f.reportAt = d[r.IntN(len(d))], time.Duration(r.IntN(90))*time.Minute
	}
	return f
}

// onConversation makes respondents answer and the application report.
func (s *simulation) onConversation(c weir.Contact, f contactResult) {
	if f.message != "" {
		time.AfterFunc(f.messageAt, func() {
			for _, ch := range []weir.ChannelID{1, 2} {
				if c.Call == nil && ch == c.Channel || c.Call != nil && ch != c.Channel {
					s.channels.receiveMessage(ch, c.To, f.message)
					s.channels.mu.Lock() // conversations go on at the same time
					s.received[c.To]++
					s.channels.mu.Unlock()
				}
			}
		})
	}
	if f.reports != "" {
		time.AfterFunc(f.duration+f.reportAt, func() { s.report(c, f, 0) })
	}
}

// report calls the running process. The application retries while the report is
// refused as unavailable.
func (s *simulation) report(c weir.Contact, f contactResult, tries int) {
	again := func() { time.AfterFunc(5*time.Minute, func() { s.report(c, f, tries+1) }) }
	p := s.process.Load()
	if p == nil {
		again()
		return
	}
	h := surveys.Report{Serial: c.Owner.Serial, Disposition: f.reports, Key: c.Key, Answers: map[string]string{"said": "something"}}
	if f.reports == surveys.Started {
		h.Messages = []string{"thank you", "how old are you?"}
	}
	if tries < 50 && weir.CodeOf(p.report(s.store.survey(c.Owner.Group), surveys.RespondentID(c.Owner.ID), h)) == weir.CodeUnavailable {
		again()
	}
}

// runScript advances time by days, with crashes and other trouble, until every
// schedule is over and all work is done.
func (s *simulation) runScript() {
	last := s.begin
	for _, pl := range s.plans {
		if end, ok := pl.Schedule.LastClose(); ok && end.After(last) {
			last = end
		}
	}
	for trouble := 4 + s.chance.IntN(10); trouble > 0; trouble-- {
		s.advance(time.Duration(s.chance.Int64N(int64(last.Sub(s.begin)) / 8)))
		s.injectFaults()
	}
	s.store.locked(func() { s.store.failOperation = nil })
	s.resume()
	if left := time.Until(last.Add(4 * time.Hour)); left > 0 {
		s.advance(left)
	}
	s.advance(5 * time.Hour)
}

func (s *simulation) injectFaults() {
	minutes := func(n int) time.Duration { return time.Duration(s.chance.IntN(n*60)+1) * time.Second }
	switch s.chance.IntN(8) {
	case 0, 1: // kill
		s.crashes++
		s.process.Store(nil)
		s.system.Close()
		s.advance(minutes(120))
		s.channels.dispatchAll()
		s.startProcess()
	case 2: // a crash right after a commit, before what follows it
		s.crashAfterCommit()
	case 3: // the store fails now and then
		n := atomic.Int64{}
		s.store.locked(func() {
			s.store.failOperation = func(string) error {
				if n.Add(1)%3 == 0 {
					return &weir.Error{Code: weir.CodeUnavailable, Message: "the store is down"}
				}
				return nil
			}
		})
		s.advance(minutes(60))
		s.store.locked(func() { s.store.failOperation = nil })
	case 4: // a channel is down, or paused
		id := weir.ChannelID(1 + s.chance.IntN(2))
		s.store.locked(func() { s.channels.status[id] = channels.Status{Health: weir.Down, Reason: "unplugged"} })
		s.advance(minutes(300))
		s.store.locked(func() { delete(s.channels.status, id) })
	case 5:
		id := weir.ChannelID(1 + s.chance.IntN(2))
		s.store.locked(func() { s.store.channels[id].Paused = true })
		s.advance(minutes(200))
		s.store.locked(func() { s.store.channels[id].Paused = false })
		s.channels.dispatchAll()
	case 6:
		if sv, err := s.system.Step(context.Background(), "other", surveys.Pause); err == nil && sv.State == surveys.Paused {
			s.store.locked(func() { s.paused[s.other] = time.Now() })
			s.advance(minutes(300))
			s.resume()
		}
	case 7:
		if s.chance.IntN(3) == 0 {
			_, _ = s.system.Step(context.Background(), "other", surveys.Stop) // it may be done
		}
	}
}

func (s *simulation) resume() {
	s.store.locked(func() { delete(s.paused, s.other) })
	_, _ = s.system.Step(context.Background(), "other", surveys.Resume) // it may be done
}

// crashAfterCommit ends the process when its next moves are in the store and no
// channel's broker has been informed.
func (s *simulation) crashAfterCommit() {
	crashed := make(chan struct{}, 1)
	s.store.locked(func() {
		s.store.onReturn = func(string) {
			select {
			case crashed <- struct{}{}:
				s.channels.crashed.Store(true)
			default:
			}
		}
	})
	select {
	case <-crashed:
	case <-time.After(24 * time.Hour):
	}
	s.process.Store(nil)
	s.system.Close()
	s.store.locked(func() { s.store.onReturn = nil })
	s.advance(time.Minute)
	s.channels.crashed.Store(false)
	s.channels.dispatchAll()
	s.startProcess()
}
