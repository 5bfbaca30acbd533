package scaletest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"
	"weir/internal/polling"
)

// measured holds the costs of one size of a survey.
type measured struct {
	respondents int
	importRate  float64 // rows per second
	importPeak  string
	launch      time.Duration
	roundTime   time.Duration // mean
	roundCalls  float64       // all statements of the program, per round
	started     float64       // respondents per second
	stats       time.Duration
	exportRate  float64 // rows per second
	exportPeak  string
}

func (m measured) String() string {
	return fmt.Sprintf("| %9d | %8.0f | %7s | %9v | %9v | %6.1f | %6.1f | %8v | %8.0f | %7s |",
		m.respondents, m.importRate, m.importPeak, m.launch.Round(time.Millisecond), m.roundTime.Round(10*time.Microsecond), m.roundCalls,
		m.started, m.stats.Round(100*time.Microsecond), m.exportRate, m.exportPeak)
}

const surveyHead = "| respondents | import/s | its peak | launch | round | statements/round | started/s | stats | export/s | its peak |"

// TestSurvey_OfManyRespondentsHasABoundedCost runs a survey through the built program: the cost of
// import, launch, rounds, statistics and export.
func TestSurvey_OfManyRespondentsHasABoundedCost(t *testing.T) {
	sizes := []int{1000, 20_000}
	if *full {
		sizes = []int{1000, 100_000, 1_000_000}
	}
	path := build(t)
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			if !*full { // the figures of a short run are no measurement
				t.Parallel()
			}
			var lines []string
			var all []measured
			for _, n := range sizes {
				m := measureSurvey(t, path, store, n)
				all = append(all, m)
				lines = append(lines, m.String())
			}
			t.Logf("%s\n%s\n%s", store, surveyHead, strings.Join(lines, "\n"))
			// Generous, because the machine may be busy; the figures are for human readers.
			first, last := all[0], all[len(all)-1]
			if last.roundCalls > 2*first.roundCalls+10 {
				t.Errorf("a round makes %.1f statements with %d respondents and %.1f with %d", first.roundCalls, first.respondents, last.roundCalls, last.respondents)
			}
		})
	}
}

// measureSurvey runs one survey on an empty store.
func measureSurvey(t *testing.T, path, store string, n int) measured {
	t.Helper()
	provider := slowProvider(t)
	p := newProgram(t, path, database(t, store))
	p.start()
	p.json(http.MethodPut, "/v1/channels/sms", fmt.Sprintf(
		`{"type":"nuntium","capacity":20,"settings":{"base_url":%q,"account":"demo","application":"weir","token":"token","channel":"sms"}}`, provider), http.StatusCreated)
	p.json(http.MethodPut, "/v1/surveys/big", bigSurvey, http.StatusCreated)
	m := measured{respondents: n}
	m.importPeak = p.peak(func() { m.importRate = load(t, p, n) })
	begun := time.Now()
	p.launch("big")
	m.launch = time.Since(begun)
	m.rounds(t, p)
	for range 5 {
		begun = time.Now()
		p.json(http.MethodGet, "/v1/surveys/big/stats", "", http.StatusOK)
		m.stats = max(m.stats, time.Since(begun))
	}
	m.exportPeak = p.peak(func() { m.exportRate = export(t, p, n) })
	p.terminate()
	return m
}

// launch launches a survey, and repeats the request while the launch is under way.
func (p *program) launch(survey string) {
	p.t.Helper()
	if !polling.Until(10*time.Minute, 100*time.Millisecond, func() bool {
		answer, err := p.http.Post(p.base+"/v1/surveys/"+survey+":launch", "application/json", strings.NewReader("{}"))
		if err != nil {
			p.t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
			p.t.Fatalf("launch: %d %s", answer.StatusCode, text)
		}
		return answer.StatusCode == http.StatusOK // 503: the launch reads every respondent and continues by itself
	}) {
		p.t.Fatal("the launch does not end")
	}
}

const bigSurvey = `{
	"schedule": {"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"24:00"}]},
	"modes": {"sms": {"channel":"sms"}}, "arms": [{"modes":["sms"]}],
	"questionnaires": {"main": {"sms": [{"messages":["Hello {{first_name}}"]}]}},
	"fallback_delay": "1d", "limit_per_minute": 1000000, "batch_size": 1000000
}`

// slowProvider passes about thirteen messages a second through a channel of twenty
// slots, whatever the backlog: even a small survey lasts while the test observes it.
func slowProvider(t *testing.T) string {
	t.Helper()
	s, err := simulator.New(simulator.Options{QueueTime: time.Millisecond, DeliverTime: 1500 * time.Millisecond, Outcomes: []string{"delivered"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, time.Hour)
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// load imports n respondents as one CSV file, and returns the rows per second.
func load(t *testing.T, p *program, n int) (rate float64) {
	t.Helper()
	from, to := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(to, 1<<16)
		_, _ = io.WriteString(w, "Phone,First name,Region\n")
		for i := range n {
			_, _ = fmt.Fprintf(w, "+1555%07d,Name%d,north\n", i, i%1000)
		}
		_ = w.Flush()
		_ = to.Close()
	}()
	begun := time.Now()
	text := p.do(http.MethodPost, "/v1/surveys/big/respondents", "text/csv", from, http.StatusOK)
	rate = float64(n) / time.Since(begun).Seconds()
	var told struct{ Added int }
	if err := json.Unmarshal(text, &told); err != nil || told.Added != n {
		t.Fatalf("of %d respondents %d were added: %v", n, told.Added, err)
	}
	return rate
}

// rounds observes the running survey for a while.
func (m *measured) rounds(t *testing.T, p *program) {
	t.Helper()
	const rounds, seconds = "weir_survey_round_duration_seconds_count", "weir_survey_round_duration_seconds_sum"
	const begun, statements = `weir_survey_respondents_started_total{survey="big"}`, "weir_db_statements_total"
	if !polling.Until(time.Minute, 20*time.Millisecond, func() bool { return p.figure(begun) > 0 }) {
		t.Fatal("no respondent is started")
	}
	const slots, used = `weir_channel_capacity_contacts{channel="sms"}`, `weir_channel_in_flight_slots{channel="sms"}`
	if !polling.Until(time.Minute, 20*time.Millisecond, func() bool { return p.figure(used) >= p.figure(slots) }) {
		t.Fatal("the channel does not fill")
	}
	names := []string{rounds, seconds, begun, statements}
	was := map[string]float64{}
	for _, name := range names {
		was[name] = p.figure(name)
	}
	at := time.Now()
	var took time.Duration
	is := map[string]float64{}
	// Six seconds, or more if nothing happened in them, as on a machine that stands still:
	// how soon a round comes is not tested here.
	if !polling.Until(time.Minute, 6*time.Second, func() bool {
		if took = time.Since(at); took < 6*time.Second {
			return false
		}
		for _, name := range names {
			is[name] = p.figure(name) - was[name]
		}
		return is[rounds] > 0 && is[begun] > 0
	}) {
		t.Fatalf("in %v %v rounds started %v respondents", took, is[rounds], is[begun])
	}
	m.roundTime = time.Duration(is[seconds] / is[rounds] * float64(time.Second))
	m.roundCalls, m.started = is[statements]/is[rounds], is[begun]/took.Seconds()
}

// export reads the results to their end, and returns the rows per second.
func export(t *testing.T, p *program, n int) (rate float64) {
	t.Helper()
	begun := time.Now()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+"/v1/surveys/big/results.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	rows := -1 // the header row
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		rows++
	}
	if err := lines.Err(); err != nil || rows != n {
		t.Fatalf("%d rows of %d: %v", rows, n, err)
	}
	return float64(n) / time.Since(begun).Seconds()
}
