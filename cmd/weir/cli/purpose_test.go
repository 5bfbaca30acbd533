package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
	"weir/internal/polling"
)

func TestPurpose_IsSetShownAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("purpose", "put", "research", "--title", "Surveys of 2026", "--quiet-hours", "20:00-09:00", "--time-zone", "Africa/Nairobi",
		"--cap", "2/7d", "--cap", "1/1d:calendar:all", "--repeat-guard", "24h", "--holiday", "2026-12-25=Christmas Day"), app.OK,
		"research: whoever refused is not contacted; quiet hours 20:00 to 09:00; people of unknown zone live in Africa/Nairobi; at most 2 in 7d; at most 1 in 1d of calendar days, over all purposes; the same text not again within 24h; 1 holiday\n", "")
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
	clitest.Check(t, b.run("limit", "list"), app.OK, `(?s)portfolio +0 of 2 +- +0 of 1000 +- +texts`, "")
	clitest.Check(t, b.run("limit", "show", "portfolio"), app.OK, `(?s)in flight +0 of 2.*new people in 24 hours +0 of 1000`, "")
	clitest.Check(t, b.run("limit", "delete", "portfolio", "--yes"), app.OK, "portfolio: deleted", "")
	clitest.Check(t, b.run("limit", "show", "portfolio"), app.NotFound, "", "no limit")
}

func TestPrice_IsSetShownAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("price", "put", "calls", "--currency", "USD", "--per-minute", "0.014"), app.NotFound, "", "channel")
	clitest.Check(t, b.run("channel", "put", "calls", "--type", "workers", "--set", "queue=callers"), app.OK, "", "")
	clitest.Check(t, b.run("limit", "put", "purse", "--channel", "calls", "--money", "20", "--currency", "USD"), app.Rejected, "", "has no price in USD")
	clitest.Check(t, b.run("price", "put", "calls", "--per-minute", "0.014"), app.Usage, "", "give --currency")
	clitest.Check(t, b.run("price", "put", "calls", "--currency", "USD"), app.Rejected, "", "must have an amount")
	rates := file(t, "rates.csv", "prefix,per_minute,per_attempt\n254,0.1,\n+44, 0.02,0.001\n")
	clitest.Check(t, b.run("price", "put", "calls", "--currency", "USD", "--per-minute", "0.014", "--minutes", "3", "--prefixes", rates), app.OK, `calls: saved \(prefixes: 2\)`, "")
	clitest.Check(t, b.run("price", "list"), app.OK, `(?s)calls +USD +- +- +0.014`, "")
	clitest.Check(t, b.run("price", "show", "calls"), app.OK, `(?s)calls, in USD.*a minute +0.014.*\+254 +- an attempt, - a segment, 0.1 a minute.*\+44 +0.001 an attempt`, "")
	clitest.Check(t, b.run("limit", "put", "purse", "--channel", "calls", "--survey", "s", "--money", "20", "--money-per-day", "5", "--currency", "USD"), app.OK, "purse: saved", "")
	clitest.Check(t, b.run("limit", "list"), app.OK, `(?s)purse .* 0.00 of 5 USD today, 0.00 of 20 USD +calls s`, "")
	clitest.Check(t, b.run("limit", "show", "purse"), app.OK, `(?s)money +0.00 of 5 USD today, 0.00 of 20 USD\n.*surveys +s`, "")
	clitest.Check(t, b.run("price", "spending", "--days", "7"), app.OK, "DAY", "")
	clitest.Check(t, b.run("price", "delete", "calls", "--yes"), app.Rejected, "", "the limit purse counts USD over channel calls")
	clitest.Check(t, b.run("limit", "delete", "purse", "--yes"), app.OK, "", "")
	clitest.Check(t, b.run("price", "delete", "calls", "--yes"), app.OK, "calls: deleted", "")
	clitest.Check(t, b.run("price", "show", "calls"), app.NotFound, "", "no price")
}

// Scenario 421.
func TestPut_DryRunSavesNothing(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	survey := filepath.Join(t.TempDir(), "flu.json")
	if err := os.WriteFile(survey, []byte(`{"title":"Flu"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	channel := []string{"channel", "put", "texts", "--type", "nuntium", "--set", "base_url=http://127.0.0.1:1", "--set", "account=demo", "--set", "application=weir", "--set", "channel=line", "--secret-env", "password=SMS_PASSWORD"}
	clitest.Check(t, b.run(append(channel, "--dry-run")...), app.OK, "^texts: nothing is wrong; nothing was saved\n$", "")
	clitest.Check(t, b.run("channel", "show", "texts"), app.NotFound, "", "there is no channel")
	clitest.Check(t, b.run(append(channel, "--dry-run", "--set", "capacity=x")...), app.Rejected, "", "/settings/capacity")
	clitest.Check(t, b.run(channel...), app.OK, "^texts: saved", "")
	for kind, args := range map[string][]string{
		"limit": {"limit", "put", "texts", "--channel", "texts", "--in-flight", "5"}, "price": {"price", "put", "texts", "--currency", "USD", "--per-segment", "1"}, "purpose": {"purpose", "put", "texts", "--title", "One"},
	} {
		clitest.Check(t, b.run(append(args, "--dry-run")...), app.OK, "^texts: nothing is wrong; nothing was saved\n$", "")
		clitest.Check(t, b.run(append(args, "--dry-run", "-o", "json")...), app.OK, `^\{"dry_run":true\}\n$`, "")
		clitest.Check(t, b.run(kind, "show", "texts"), app.NotFound, "", "texts")
	}
	clitest.Check(t, b.run("price", "put", "texts", "--currency", "US", "--dry-run"), app.Rejected, "", "/currency")
	clitest.Check(t, b.run("survey", "put", survey, "flu", "--dry-run"), app.Rejected, "", "/schedule")
	clitest.Check(t, b.run("survey", "show", "flu"), app.NotFound, "", "flu")
}

// Scenario 340.
func TestContact_SkippedIsCountedByRule(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"name":"weir","enabled":true}`))
	}))
	t.Cleanup(provider.Close)
	b := newBroker(t)
	clitest.Check(t, b.run("contact", "skipped"), app.OK, "^CHANNEL +SURVEY +RULE +SUPPRESSED +DELAYED\n$", "")
	clitest.Check(t, b.run("contact", "skipped", "-o", "json"), app.OK, `^\[\]\n$`, "")
	clitest.Check(t, b.run("channel", "put", "texts", "--type", "nuntium", "--set", "base_url="+provider.URL, "--set", "account=demo", "--set", "application=weir", "--set", "channel=line",
		"--secret-env", "password=SMS_PASSWORD", "--set", "only_to=+254722123456"), app.OK, "", "")
	clitest.Check(t, b.run("contact", "send", "texts", "--to", "+15550100001", "--message", "one", "--survey", "flu"), app.OK, "", "")
	clitest.Check(t, b.run("contact", "send", "texts", "--to", "+15550100002", "--message", "two"), app.OK, "", "")
	if !polling.Until(time.Minute, 50*time.Millisecond, func() bool { return strings.Count(b.run("contact", "skipped").Out, "\n") == 3 }) {
		t.Fatal("waited in vain")
	}
	clitest.Check(t, b.run("contact", "skipped"), app.OK, `(?s)\ntexts +- +only_to +1 +0\ntexts +flu +only_to +1 +0\n`, "")
	clitest.Check(t, b.run("contact", "skipped", "--channel", "texts", "--survey", "flu", "--days", "1", "-o", "json"), app.OK, `"survey":\s*"flu",\s*"rule":\s*"only_to",\s*"suppressed":\s*1`, "")
	clitest.Check(t, b.run("contact", "skipped", "--survey", "other"), app.OK, "DELAYED\n$", "")
	clitest.Check(t, b.run("contact", "skipped", "--channel", "none"), app.NotFound, "", "no such channel")
	clitest.Check(t, b.run("contact", "skipped", "--days", "1001"), app.Rejected, "", "days")
}

func TestPrice_MistakesOfAFileAreNamedTogether(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	clitest.Check(t, b.run("channel", "put", "calls", "--type", "workers", "--set", "queue=callers"), app.OK, "", "")
	put := func(content string) clitest.Result {
		return b.run("price", "put", "calls", "--currency", "USD", "--prefixes", file(t, "rates.csv", content))
	}
	clitest.Check(t, put("prefix,per_minute\n254,free\n255,0.1\n256,0.12345678\n"), app.Failure, "", `(?s)rates.csv:2: "free" is no amount.*rates.csv:4: "0.12345678"`)
	clitest.Check(t, put("prefix,price\n254,1\n"), app.Failure, "", `column "price" is not known`)
	clitest.Check(t, put(""), app.Failure, "", "header cannot be read")
	clitest.Check(t, put("prefix,per_minute\n254,1,2\n255,free\n"), app.Failure, "", `(?s)rates.csv:2: has 3 fields; the header has 2.*rates.csv:3: "free"`)
	clitest.Check(t, put("\ufeffprefix;per_minute\r\n254;0.1\r\n"), app.OK, `prefixes: 1`, "")
	clitest.Check(t, put("prefix,per_minute\n254,0.1\n254,0.1\nabc,1\n257,\n"), app.Rejected, "", `(?s)prefixes/2/prefix.*prefixes/1/prefix.*prefixes/3`)
}
