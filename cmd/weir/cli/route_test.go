package cli_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
	routing "weir/router"
	"weir/router/acd"
	"weir/router/label"
	"weir/router/resource"
	"weir/router/routertest"
	routerapi "weir/web/router"
)

const routerKey = "YW4gYWNjZXNzIGtleSBvZiAzMiBieXRlcywgZXhhY3Q="

// switchboard is a router behind its signed API.
type switchboard struct {
	t      *testing.T
	url    string
	engine *routertest.Engine
	now    time.Time
}

func newSwitchboard(t *testing.T) *switchboard {
	t.Helper()
	s := &switchboard{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	s.engine = routertest.New(func() time.Time { return s.now })
	h, err := routerapi.New(routerapi.Options{
		Engine: s.engine, Keys: [][]byte{[]byte("an access key of 32 bytes, exact")}, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return s.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *switchboard) run(args ...string) clitest.Result {
	s.t.Helper()
	return s.runIn([]string{"WEIR_URL=" + s.url, "WEIR_ROUTER_KEY=" + routerKey, "TZ=UTC"}, args...)
}

func (s *switchboard) runIn(environ []string, args ...string) clitest.Result {
	s.t.Helper()
	r := clitest.Run(func(out, err io.Writer) int {
		return cli.Run(s.t.Context(), append([]string{"route"}, args...), cli.Options{
			Environ: environ, Stdout: out, Stderr: err, Now: func() time.Time { return s.now },
		})
	})
	if strings.Contains(r.Out+r.Err, routerKey[:10]) {
		s.t.Errorf("the key is shown:\n%s%s", r.Out, r.Err)
	}
	return r
}

// The worker that gets a job need not be the one that has waited longest; since when it
// was available is shown all the same.
func TestRouteAsk_ShowsSinceWhenAnyWorkerWasAvailable(t *testing.T) {
	t.Parallel()
	s := newSwitchboard(t)
	s.engine.Must(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{AutoAccept: true, Mode: resource.Mode{Kind: resource.RoundRobin}}})
	s.engine.Must(routing.PutQueue{ID: "turns", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	for _, id := range []string{"zoe", "ann"} {
		s.now = s.now.Add(time.Second)
		spec := acd.Agent(id, "F", "Spanish")
		spec.Queues = []string{"turns"}
		s.engine.Must(routing.PutWorker{ID: id, Spec: spec})
	}
	clitest.Check(t, s.run("ask", "Spanish", "--queue", "turns"), app.OK, `^Spanish: ann \(ann\), available since 2026-03-01 09:00:02\.000000 UTC has job`, "^$")
}

// The article's demonstration on the command line.
func TestRouteAsk_DemonstratesTheArticle(t *testing.T) {
	t.Parallel()
	s := newSwitchboard(t)
	clitest.Check(t, s.run("seed", "--agents", "0"), app.OK, "^0 agents, 6 pools, queues agents and callers\n$", "^$")
	for i, a := range []resource.WorkerSpec{acd.Agent("Chad", "M", "English", "French", "Spanish"), acd.Agent("Alicia", "F", "Spanish"), acd.Agent("Chad", "M", "Spanish")} {
		s.now = s.now.Add(time.Second)
		s.engine.Must(routing.PutWorker{ID: []string{"chad-1", "alicia", "chad-2"}[i], Spec: a})
	}
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"Q#Spanish#M --peek", app.OK, `^Q#Spanish#M: next is Chad \(chad-1\), available since 2026-03-01 09:00:01\.000000 UTC\navailable: 2; version of pool Q#Spanish#M: 2\n$`, "^$"},
		{"Q#Spanish#M", app.OK, `^Q#Spanish#M: Chad \(chad-1\), available since 2026-03-01 09:00:01\.000000 UTC has job ask-[a-z0-9]{26}\navailable: 2 before; version of pool Q#Spanish#M: 3\n$`, "^$"},
		{"Q#French#M", app.Failure, `^Q#French#M: no worker is available\navailable: 0 before; version of pool Q#French#M: 2\n$`, "no worker is available"},
		{"language=Spanish,gender!=M", app.OK, `Alicia \(alicia\).*\navailable: 1 before\n$`, "^$"},
		{"Klingon --queue callers --job k", app.OK, `^Klingon: job k is queued at position 1 of 1\navailable: 0 before\n$`, "^$"},
		{"Spanish --output json --job last", app.OK, `^\{"filter":"Spanish","depth":1,"job":"last","status":"assigned","worker":"chad-2","name":"Chad","available_since":"2026-03-01T09:00:03Z"\}\n$`, "^$"},
		{"Q#Spanish", app.Usage, "^$", `"Q#Spanish" is not a filter`},
		{"Spanish --queue none", app.NotFound, "^$", "404 NotFound|404"},
		{"", app.Usage, "^$", "FILTER is missing"},
	} {
		clitest.Check(t, s.run(append([]string{"ask"}, strings.Fields(c.args)...)...), c.code, c.out, c.err)
	}
	clitest.Check(t, s.run("pools"), app.OK, `(?m)^Q#Spanish#M +0 +4 +agents +call +Spanish,gender=M$`, "^$")
	clitest.Check(t, s.run("queues"), app.OK, `(?m)^agents +0 +- +- +longest-idle +nobody-waits$`, "^$")
	clitest.Check(t, s.run("jobs", "--status", "queued"), app.OK, `^JOB.*\nk +queued +callers +call +1 +2026-03-01 09:00Z +- +-\n$`, "^$")
	clitest.Check(t, s.run("jobs", "--status", "queued", "--why"), app.OK, `(?m)^k +queued .* no worker of queue callers matches the selectors of the job$`, "^$")
	clitest.Check(t, s.run("jobs", "--unmatchable", "--queue", "callers"), app.OK, "^JOB\nk\n$", "^$")
	clitest.Check(t, s.run("jobs", "--unmatchable"), app.Usage, "^$", "--unmatchable requires --queue")
	clitest.Check(t, s.run("jobs", "--status", "nonsense"), app.Rejected, "", "status")
	clitest.Check(t, s.run("workers", "--state", "active"), app.OK, `(?m)^alicia +active +1 +0 +100% +agents,callers +Spanish gender=F$`, "^$")
	for line := range strings.Lines(s.run("workers", "-o", "jsonl").Out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// Jobs and workers are listed whatever members they have.
func TestRoute_ListsJobsWithAllMembers(t *testing.T) {
	t.Parallel()
	s := newSwitchboard(t)
	clitest.Check(t, s.run("seed", "--agents", "0"), app.OK, "", "^$")
	labels := label.Set{"text": label.Text("x"), "number": label.Number(1.5), "bool": label.Bool(false)}
	s.engine.Must(routing.PutWorker{ID: "w", Spec: resource.WorkerSpec{
		Queues: []string{"callers"}, Capacity: 100, Channels: []resource.Channel{{ChannelID: "call", CapacityCostPerJob: 10, MaxNumberOfJobs: 3}},
		Labels: labels, Tags: labels, AvailableForOffers: true, MaxConcurrentOffers: 2,
	}})
	s.engine.Must(routing.PutJob{ID: "j", Spec: resource.JobSpec{
		ChannelID: "call", ChannelReference: "r", QueueID: "callers", Priority: new(-7), Labels: labels, Tags: labels, NotAfter: s.now.Add(2 * time.Hour),
		RequestedWorkerSelectors: []resource.WorkerSelector{{Key: "number", Operator: label.GreaterThan, Value: label.Number(1), ExpiresAfterSeconds: 30, Expedite: true}},
		Notes:                    []resource.Note{{Message: "m", AddedAt: s.now}}, MatchingMode: resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: s.now.Add(time.Hour)},
	}})
	clitest.Check(t, s.run("jobs"), app.OK, `(?m)^j +scheduled +callers +call +-7 `, "^$")
	clitest.Check(t, s.run("workers"), app.OK, `(?m)^w +active +0 +0 +0% +callers +bool=false number=1.5 text=x$`, "^$")
}

// The seed prints the workers that it makes, and seeding again changes nothing; long
// lists have pages.
func TestRouteSeed_MayBeRepeated(t *testing.T) {
	t.Parallel()
	s := newSwitchboard(t)
	first := s.run("seed", "--agents", "250")
	clitest.Check(t, first, app.OK, `(?m)^agent-001-[0-9a-f]{8} +[A-Z][a-z]+ +.*gender=[FM]$`, "^$")
	writes := len(s.engine.Log())
	if again := s.run("seed", "--agents", "250"); again.Out != first.Out || len(s.engine.Log()) != writes {
		t.Errorf("seeding again: %d writes more\n%s", len(s.engine.Log())-writes, again.Out)
	}
	if n := strings.Count(s.run("workers").Out, "\n"); n != 251 {
		t.Errorf("%d lines of 250 workers", n)
	}
	clitest.Check(t, s.run("seed", "--agents", "1", "--seed", "9", "--output", "json"), app.OK, `^\{"queues":\["agents","callers"\],"pools":\["Q#English#F",.*\],"agents":\["agent-001-[0-9a-f]{8}"\]\}\n$`, "^$")
}

func TestRoute_KeyComesFromAVariableOrAFile(t *testing.T) {
	t.Parallel()
	s := newSwitchboard(t)
	at := "WEIR_URL=" + s.url
	for _, c := range []struct {
		environ []string
		flags   string
		code    int
		err     string
	}{
		{[]string{at}, "", app.Rejected, "401.*set a key"},
		{[]string{at, "WEIR_ROUTER_KEY=c29tZSBvdGhlciBrZXk="}, "", app.Rejected, "401"},
		{[]string{at, "WEIR_ROUTER_KEY=x"}, "", app.Usage, "base64 form of 8 bytes"},
		{[]string{at, "WEIR_ROUTER_KEY=" + routerKey, "WEIR_ROUTER_KEY_FILE=f"}, "", app.Usage, "both set"},
		{[]string{at}, "--key-file " + file(t, "key", routerKey+"\n"), app.OK, "^$"},
		{[]string{at, "WEIR_ROUTER_KEY_FILE=" + file(t, "key", routerKey)}, "", app.OK, "^$"},
		{[]string{at}, "--key-file " + file(t, "key", "\n"), app.Failure, "is empty"},
		{[]string{at}, "--key-file " + filepath.Join(t.TempDir(), "none"), app.Failure, "read the key"},
		{[]string{"WEIR_URL=http://u:p@x"}, "", app.Usage, "without user"},
		{[]string{"WEIR_URL=http://127.0.0.1:1"}, "", app.Unreachable, "refused"},
		{[]string{at}, "--output yaml", app.Usage, "want table, json or jsonl"},
	} {
		r := s.runIn(c.environ, append([]string{"queues"}, strings.Fields(c.flags)...)...)
		if r.Code != c.code || !regexp.MustCompile(c.err).MatchString(r.Err) {
			t.Errorf("%v %s: %d %q, want %d %q", c.environ, c.flags, r.Code, r.Err, c.code, c.err)
		}
	}
}
