package surveys_test

import (
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"weir"
	"weir/actors/supervise"
	surveybroker "weir/actors/surveys"
	"weir/surveys"
	"weir/surveys/calendar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is one survey broker on an in-memory store and fake channels.
type lab struct {
	t             testing.TB
	store         *fakeStore
	channels      *fakeChannels
	system        *surveybroker.System
	reg           *prometheus.Registry
	log           slog.Handler
	roundInterval time.Duration
	starts        int64 // of the program
	checkEvery    time.Duration
}

// noAnswer ends every contact after a minute, unanswered.
func noAnswer(weir.Contact) contactResult {
	return contactResult{duration: time.Minute, outcome: weir.NoAnswer}
}

// inLab runs a test in virtual time, which starts on a Thursday in January.
func inLab(t *testing.T, f func(weir.Contact) contactResult, test func(*lab)) {
	t.Helper()
	inLabFor(t, 5*time.Second, f, test)
}

// inLabFor is inLab for tests of days, with a longer interval between regular
// rounds.
func inLabFor(t *testing.T, every time.Duration, f func(weir.Contact) contactResult, test func(*lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)))
		l := newLab(t, f)
		l.roundInterval = every
		l.start()
		defer func() { l.system.Close() }()
		test(l)
	})
}

func newLab(t testing.TB, f func(weir.Contact) contactResult) *lab {
	m := newStore()
	return &lab{t: t, store: m, channels: newFakeChannels(m, f), log: slog.DiscardHandler, roundInterval: 5 * time.Second, checkEvery: 5 * time.Minute}
}

// start starts a process. An earlier one must be closed.
func (l *lab) start() *surveybroker.System {
	l.t.Helper()
	l.starts++
	l.reg = prometheus.NewRegistry()
	tree := supervise.NewSystem(slog.New(l.log))
	l.t.Cleanup(func() { supervise.Shutdown(tree) })
	sys, err := surveybroker.Start(surveybroker.Options{
		ActorSystem: tree,
		Store: surveybroker.Store{
			SurveyStore: l.store, ChannelReader: l.store, RespondentReader: l.store, PacingReader: l.store, Worker: l.store, Outbox: l.store,
			ChannelStateStore: l.store, ContactReader: l.store,
		},
		Channels: l.channels, Types: l.channels, StartNumber: l.starts, Logger: slog.New(l.log),
		Defaults: surveys.Defaults{Batch: 10000, LimitPerMinute: 1000, InitialSuccessRate: 1}, Metrics: surveybroker.NewMetrics(l.reg),
		CheckEvery: l.checkEvery, CheckTimeout: 10 * time.Second, RoundInterval: l.roundInterval, Random: func() float64 { return 0.5 },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := sys.Resume(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.system = sys
	return sys
}

// advance advances virtual time.
func (l *lab) advance(d time.Duration) {
	l.t.Helper()
	time.Sleep(d)
	synctest.Wait()
}

// allDay returns a schedule that is always open.
func allDay() calendar.ScheduleSpec {
	return calendar.ScheduleSpec{
		TimeZone: "UTC", Weekdays: []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
		Windows: []calendar.WindowSpec{{From: "00:00", To: "24:00"}},
	}
}

// smsSurvey returns a survey by SMS on the channel texts.
func smsSurvey(retries string) surveys.Definition {
	return surveys.Definition{
		Schedule: allDay(), Modes: map[surveys.Mode]surveys.ModeSpec{surveys.SMS: {Channel: "texts", Retries: retries}},
		Arms:           []surveys.Arm{{Modes: []surveys.Mode{surveys.SMS}}},
		Questionnaires: map[string]map[surveys.Mode][]surveys.Content{"q": {surveys.SMS: {{Messages: []string{"hello"}}}}},
	}
}

// callSurvey returns a survey by calls on the channel calls, with SMS as fallback.
func callSurvey(retries, texts string) surveys.Definition {
	d := smsSurvey(texts)
	d.Modes[surveys.IVR] = surveys.ModeSpec{Channel: "calls", Retries: retries}
	d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR, surveys.SMS}}}
	d.Questionnaires["q"][surveys.IVR] = []surveys.Content{{Call: &weir.Call{CallFlowID: 7}}}
	return d
}

// addSurvey stores a draft and its respondents.
func (l *lab) addSurvey(name string, d surveys.Definition, people int) surveys.Survey {
	l.t.Helper()
	s := l.store.addSurvey(surveys.Survey{Name: name, State: surveys.Draft, Definition: d})
	for i := range people {
		l.store.addPerson(s.ID, phone(s.ID, i), map[string]string{"age": []string{"young", "old"}[i%2]})
	}
	return s
}

func phone(survey int64, i int) string {
	digits := survey*1000 + int64(i)
	return "+1555" + string([]byte{
		byte('2' + digits/1000000%8), byte('0' + digits/100000%10), byte('0' + digits/10000%10),
		byte('0' + digits/1000%10), byte('0' + digits/100%10), byte('0' + digits/10%10), byte('0' + digits%10),
	})
}

func (l *lab) command(name string, step surveys.Step) surveys.Survey {
	l.t.Helper()
	s, err := l.system.Step(l.t.Context(), name, step)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// statusCounts counts the respondents of a survey by status.
func (l *lab) statusCounts(survey int64) map[surveys.Status]int {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	out := map[surveys.Status]int{}
	for _, id := range l.store.members[survey] {
		out[l.store.people[id].Status]++
	}
	return out
}

// respondents returns the respondents of a survey.
func (l *lab) respondents(survey int64) (out []surveys.Respondent) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for _, id := range l.store.members[survey] {
		out = append(out, *l.store.people[id])
	}
	return out
}

func environment(name string) string { return os.Getenv(name) }
