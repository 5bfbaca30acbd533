package crashtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// olderVariable names the program of an earlier version, for make test-upgrade. Without it,
// the older program is this one under an older version.
const olderVariable = "WEIR_TEST_OLDER"

func older(t *testing.T) string {
	t.Helper()
	path, err := program(olderVariable, filepath.Join(t.TempDir(), "weir"), "-tags", "failpoints", "-ldflags", "-s -w -X main.version=v0.0.0-20200101000000-000000000000", "weir/cmd/weir")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCrashUpgrade replaces the processes of a cluster by those of a newer version under load,
// and goes back: nobody notices, one version writes at a time, and the newer one is preferred. Where
// the older one cannot run on the newer schema, it stands by for a while, and never owns the database.
func TestCrashUpgrade(t *testing.T) {
	t.Parallel()
	from := seed(t)
	old, latest := []string{older(t), "serve"}, []string{os.Getenv(binaryVariable), "serve"}
	// The older program makes the schema, the newer one migrates it.
	url := testmysql.URL(t)
	c := newClusterOn(t, url, [][]string{old, old, latest}, from, true, newCalls(t, capacity), newSMS(t, capacity))
	c.feed()
	owns := func(b *broker, line []string) {
		t.Helper()
		if b.line[0] != line[0] {
			t.Errorf("the owner is %s, want %s", b.line[0], line[0])
		}
	}
	owns(c.owner(), old) // the first that started
	known := c.owner().schemaMade()
	rest(nil, 1500*time.Millisecond)
	c.hand("SIGTERM", func(b *broker) { b.terminate(); b.line = latest })
	owns(c.owner(), latest)
	replace := func(line []string) {
		t.Helper()
		owner := c.owner()
		for _, b := range c.members {
			if b == owner {
				continue
			}
			select {
			case <-b.gone:
			default:
				b.terminate()
			}
			b.line = line
			c.back(b)
			c.joined(b)
		}
	}
	replace(latest)
	replace(old) // the owner alone is new
	owns(c.owner(), latest)
	rest(nil, 1500*time.Millisecond)
	if known < oldestStep(t, url) { // the older ones only pass requests on
		rest(nil, 1500*time.Millisecond)
		replace(latest)
	} else {
		c.hand("SIGTERM", func(b *broker) { b.terminate(); b.line = old })
		owns(c.owner(), old)
		replace(old)
	}
	c.within("SIGTERM", time.Second)
	requests := c.balancer.Tally()
	if requests.Failed() > 0 {
		t.Errorf("%d of %d requests were refused: %v", requests.Failed(), requests.Served, requests.Why)
	}
	t.Logf("CELL upgrade: the next contact at most %v after the end of an owner, the slowest of %d requests, %s, took %v",
		c.worst["SIGTERM"], requests.Served, requests.SlowestOf, requests.Slowest.Round(time.Millisecond))
	c.settle("upgrade", handOver)
}

// schemaMade returns the last step of the schema that a process has made.
func (b *broker) schemaMade() (step int64) {
	b.t.Helper()
	m := regexp.MustCompile(`msg="schema created" steps=\d+ last=(\d+)`).FindStringSubmatch(b.tail())
	if m == nil {
		b.t.Fatal("the process that started first has not made the schema")
	}
	step, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return step
}

// oldestStep returns which step a program has to know to run on the schema of a database.
func oldestStep(t *testing.T, url string) int64 {
	t.Helper()
	step, err := storetest.OpenOnly(t, url, persistence.Options{}).OldestStep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// joined waits until a standby is ready.
func (c *cluster) joined(b *broker) {
	c.t.Helper()
	if !polling.Until(upWithin, 10*time.Millisecond, func() bool { return probe(b.url+"/readyz") == 200 }) {
		c.t.Fatal("a standby is not ready")
	}
}
