package cli_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli/app"
)

// The processes are listed with what is wrong, for people and for programs.
func TestProcesses_AreListedWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	const answer = `{"processes":[` +
		`{"start":5,"address":"10.0.0.5:1","version":"1.1.0","schema":31,"owner":true,"owner_since":"2026-01-01T11:00:00Z","successor":false,"cannot_reach":[{"start":2,"address":"10.0.0.2:1","reason":"refused"}],"may_take_over":false},` +
		`{"start":2,"address":"10.0.0.2:1","version":"1.0.0","schema":30,"owner":false,"heartbeat_age_seconds":0.4,"successor":true,"differing_settings":["PUBLIC_URL","version"],"may_take_over":true,"take_over_trouble":"too \u001bold"}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/processes" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		answers(http.StatusOK, answer)(w, r)
	}))
	t.Cleanup(s.Close)
	want := regexp.QuoteMeta(strings.Join([]string{
		"START  ADDRESS     VERSION  SCHEMA  ROLE           SINCE                 HEARTBEAT  REMARKS",
		"    5  10.0.0.5:1  1.1.0        31  owner          2026-01-01 11:00:00Z  -          cannot reach 10.0.0.2:1: refused",
		"    2  10.0.0.2:1  1.0.0        30  standby, next  -                     1 s        too \\x1bold; differs from the owner: PUBLIC_URL, version", "",
	}, "\n"))
	clitest.Check(t, at(t, s.URL, "", "processes"), app.OK, "^"+want+"$", "^$")
	clitest.Check(t, at(t, s.URL, "", "processes", "--output", "jsonl"), app.OK, `^{"start":5.*"owner":true.*}\n{.*"start":2.*}\n$|^{.*"owner":true.*\n.*"successor":true.*\n$`, "^$")
}

// On SQLite there is one process, and it is the owner.
func TestProcesses_OfSQLiteAreOneOwner(t *testing.T) {
	t.Parallel()
	clitest.Check(t, newBroker(t).run("processes"), app.OK, `^START .*\n +\d+  -  .* owner  +20..-.*\n$`, "^$")
}
