package cli_test

import (
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

func TestPurpose_IsSetShownAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("purpose", "put", "research", "--title", "Surveys of 2026", "--quiet-hours", "20:00-09:00", "--time-zone", "Africa/Nairobi",
		"--cap", "2/7d", "--cap", "1/1d:calendar:all", "--repeat-guard", "24h", "--holiday", "2026-12-25=Christmas Day"), app.OK,
		"research: whoever refused is not contacted; quiet hours 20:00 to 09:00; people of unknown zone live in Africa/Nairobi; at most 2 in 7d; at most 1 in 1d of calendar days, over all purposes; the same text not again within 24h; 1 holidays\n", "")
	clitest.Check(t, b.run("purpose", "show", "research"), app.OK, `(?s)research  Surveys of 2026\n.*  2026-12-25  Christmas Day\n`, "")
	clitest.Check(t, b.run("purpose", "put", "emergency", "--despite-refusals", "floods"), app.OK, "also whoever refused is contacted: floods", "")
	clitest.Check(t, b.run("purpose", "put", "rules", "--file", file(t, "rules.json", `{"consent": "recorded", "title": "x"}`), "--title", "y"), app.OK, "only whoever has agreed is contacted", "")
	clitest.Check(t, b.run("purpose", "list", "-o", "jsonl"), app.OK, `(?s)emergency.*\n.*research.*\n.*"title":"y"`, "")
	clitest.Check(t, b.run("purpose", "delete", "research", "--yes"), app.OK, "research: deleted", "")
	clitest.Check(t, b.run("purpose", "show", "research"), app.NotFound, "", "no purpose")
}

func TestPurpose_MistakesAreNamedTogether(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("purpose", "put", "research", "--quiet-hours", "20:00-20:00", "--time-zone", "Mars", "--repeat-guard", "soon"), app.Rejected, "", `(?s)quiet_hours.*time_zone.*repeat_guard`)
	clitest.Check(t, b.run("purpose", "put", "research", "--cap", "2 a week"), app.Usage, "", "such as 2/7d")
	clitest.Check(t, b.run("purpose", "put", "research", "--cap", "2/7d:sometimes"), app.Usage, "", "sometimes")
	clitest.Check(t, b.run("purpose", "put", "research", "--quiet-hours", "night"), app.Usage, "", "FROM-TO")
	clitest.Check(t, b.run("purpose", "put", "All", "--cap", "2/7d"), app.Rejected, "", "name")
}

func TestLimit_IsSetShownAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("limit", "put", "portfolio", "--channel", "unheard-of", "--in-flight", "2"), app.Rejected, "", "does not exist")
	clitest.Check(t, b.run("channel", "put", "texts", "--type", "workers", "--set", "queue=callers"), app.OK, "", "")
	clitest.Check(t, b.run("limit", "put", "portfolio", "--channel", "texts", "--title", "all numbers"), app.Rejected, "", "must limit something")
	clitest.Check(t, b.run("limit", "put", "portfolio", "--channel", "texts", "--in-flight", "2", "--new-people-per-day", "1000"), app.OK, "portfolio: saved", "")
	clitest.Check(t, b.run("limit", "list"), app.OK, `(?s)portfolio +0 of 2 +- +0 of 1000 +texts`, "")
	clitest.Check(t, b.run("limit", "show", "portfolio"), app.OK, `(?s)in flight +0 of 2.*new people +0 of 1000 in 24 hours`, "")
	clitest.Check(t, b.run("limit", "delete", "portfolio", "--yes"), app.OK, "portfolio: deleted", "")
	clitest.Check(t, b.run("limit", "show", "portfolio"), app.NotFound, "", "no limit")
}
