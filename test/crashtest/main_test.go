// Package crashtest_test kills the built program repeatedly, at its durable
// boundaries and at random moments, and then checks with the simulated providers
// and the API that Weir keeps its guarantees: nothing that was acknowledged is lost,
// nothing is sent twice, no channel ever holds more than its capacity, and contacts in
// flight are resolved in time. For surveys: no respondent is lost, or contacted twice
// for one attempt, or contacted after their STOP was acknowledged. For the router:
// every acknowledged change is kept, timers fire, events arrive in order.
//
// The program is the real one, built with the tag failpoints, and runs as a
// process of its own. The providers run in the test's process and outlive it.
// Their records are the evidence; the broker's own figures are not.
//
// WEIR_TEST_CRASH=full runs every cell of the matrix many times (make
// test-crash); without it each failpoint strikes once for every provider and
// store. WEIR_TEST_CRASH_SEED repeats the choices of a run.
package crashtest_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	sizeVariable   = "WEIR_TEST_CRASH"
	seedVariable   = "WEIR_TEST_CRASH_SEED"
	binaryVariable = "WEIR_TEST_CRASH_BINARY" // set by TestMain for the tests
	atOnce         = 8                        // scenarios at once; they mostly wait
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "weir-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = os.Unsetenv("GOGC") // of this process; the program runs with the settings that it ships with
	binary, err := program("WEIR_TEST_FAILPOINTS", filepath.Join(dir, "weir"), "-tags", "failpoints", "-ldflags", "-s -w", "weir/cmd/weir")
	if err == nil {
		err = os.Setenv(binaryVariable, binary)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// program returns the program that a variable names, which make has built for all tests; without it, it is built here.
func program(variable, path string, build ...string) (string, error) {
	if made := os.Getenv(variable); made != "" {
		_, err := os.Stat(made) // go test runs this package again after a change of a file that it has looked at
		return made, err
	}
	c := exec.Command("go", append([]string{"build", "-o", path}, build...)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return path, nil
}

// sizes are the numbers of kills and the limits of a run.
type sizes struct {
	cell        int // kills in each cell of the matrix; 0: each point once in one scenario
	random      int // kills at random, for each store
	storeKills  int
	drains      int
	surveyKills int           // for each store
	respondents int           // of each survey
	talkers     int           // of each survey of questions
	surveyPace  int           // attempts of each survey in a minute
	routerKills int           // for each store
	clientKills int           // of the client or the broker, for each store
	earlier     int           // contacts of one person that were sent
	late        int           // contacts of the person that are due at one instant: a page of the API has 1,000
	othersShare float64       // of what was sent to others before: a busy machine varies
	alone       bool          // a test that compares rates runs beside no other
	watch       time.Duration // how long that is counted
	strikeLimit time.Duration // a failpoint that has not struck by then counts as one that does not strike
	slack       time.Duration // tolerance added to the limits for a busy machine
}

func size() sizes {
	if os.Getenv(sizeVariable) == "full" {
		return sizes{cell: 20, random: 200, storeKills: 10, drains: 20, surveyKills: 60, respondents: 400, talkers: 6, surveyPace: 1200, routerKills: 150, clientKills: 60, earlier: 20_000, late: 1000, othersShare: 0.9, alone: true, watch: 20 * time.Second, strikeLimit: 45 * time.Second, slack: 2 * time.Second}
	}
	return sizes{random: 15, storeKills: 1, drains: 3, surveyKills: 4, respondents: 40, talkers: 6, surveyPace: 100_000, routerKills: 5, clientKills: 6, earlier: 2000, late: 250, othersShare: 0.25, watch: 3 * time.Second, strikeLimit: 30 * time.Second, slack: 2 * time.Second}
}

// seed returns the seed of all random choices in a test. It is logged, so that a run
// can be repeated as far as the scheduler allows.
func seed(t *testing.T) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("%s=%d", seedVariable, n)
	return n
}

// rest waits for d. It reports false if done closes first.
func rest(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}
