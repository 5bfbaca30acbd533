package cli_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

// remoteCommands returns all commands that send requests to Weir, with arguments.
func remoteCommands(t *testing.T) map[string]string {
	t.Helper()
	body := file(t, "x.json", "{}")
	return map[string]string{
		"channel list": "", "channel show": "x", "channel put": "x --file " + body, "channel set": "x --title y", "channel pause": "x", "channel resume": "x",
		"channel capacity": "x 5", "channel drain": "x", "channel delete": "x --yes", "channel incoming": "x",
		"contact send": "x --to +15550001 --message y --tries 1", "contact list": "", "contact show": "x", "contact timeline": "x", "contact cancel": "x --yes",
		"dlq groups": "", "dlq list": "", "dlq requeue": "--all --yes", "dlq discard": "--channel x --yes",
		"events": "--no-follow", "audit": "", "top": "", "resume": "",
		"survey put": body + " x", "survey correct": body + " x", "survey launch": "x --wait 0s", "survey pause": "x", "survey resume": "x", "survey stop": "x --yes", "survey show": "x", "survey status": "x", "survey list": "",
		"survey delete": "x --yes", "consent review": "", "consent decide": "1 refused --yes", "survey export results": "x --file -", "survey export log": "x --file -", "survey export dispositions": "x --file -", "survey export incentives": "x --file -",
		"route workers": "", "route queues": "", "route jobs": "", "route pools": "", "route ask": "Spanish",
	}
}

// All commands that send requests to Weir use the same exit codes.
func TestExitCodes_AreTheSameForAllCommands(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct {
		name   string
		status int // 0: no server listens
		code   int
	}{
		{"server down", 0, app.Unreachable}, {"it cannot work", http.StatusServiceUnavailable, app.Unreachable}, {"too many", http.StatusTooManyRequests, app.Unreachable},
		{"a proxy alone", http.StatusBadGateway, app.Unreachable}, {"not there", http.StatusNotFound, app.NotFound}, {"conflict", http.StatusConflict, app.Rejected},
		{"mistakes", http.StatusUnprocessableEntity, app.Rejected}, {"no token", http.StatusUnauthorized, app.Rejected}, {"no scope", http.StatusForbidden, app.Rejected},
		{"broken", http.StatusInternalServerError, app.Failure},
	} {
		for command, args := range remoteCommands(t) {
			t.Run(c.name+"/"+command, func(t *testing.T) {
				t.Parallel()
				url := gone.URL
				if c.status != 0 {
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.WriteHeader(c.status)
						_, _ = w.Write([]byte(`{"code":"x","detail":"so it is","error":{"code":"x","message":"so it is"}}`))
					}))
					t.Cleanup(server.Close)
					url = server.URL
				}
				clitest.Check(t, at(t, url, "", append(strings.Fields(command), strings.Fields(args)...)...), c.code, "^$", "^weir: (?s:.+)\n$")
			})
		}
	}
}

// A mistake on the command line is found before any request is sent.
func TestExitCodes_UsageErrorsAreTheSameForAllCommands(t *testing.T) {
	t.Parallel()
	for command, args := range remoteCommands(t) {
		for _, wrong := range []string{"--nonsense", "--output yaml", "--url ftp://x"} {
			clitest.Check(t, at(t, "http://127.0.0.1:1", "", strings.Fields(command+" "+args+" "+wrong)...), app.Usage, "^$", `\(see weir `)
		}
		clitest.Check(t, at(t, "http://127.0.0.1:1", "", strings.Fields(command+" "+args+" one two three")...), app.Usage, "^$", "unexpected argument")
	}
	both := []string{"WEIR_TOKEN=a", "WEIR_TOKEN_FILE=b"}
	clitest.Check(t, run(t, both, "channel", "list"), app.Usage, "^$", "both set")
	clitest.Check(t, run(t, nil, "channel", "list", "--token-file", filepath.Join(t.TempDir(), "none")), app.Failure, "^$", "read the token")
}

func TestExitCodes_IrreversibleCommandsNeedConfirmation(t *testing.T) {
	t.Parallel()
	view := `{"channel":"sms","type":"nuntium","state":"up","capacity":5,"in_flight":2,"queued":12345,"settings":{}}`
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/channels/sms": answers(http.StatusOK, view), "DELETE /v1/channels/sms": answers(http.StatusNoContent, ""),
		"GET /v1/surveys/flu/stats": answers(http.StatusOK, `{"survey":"flu","state":"running","by_status":{"pending":1200,"active":34,"completed":7}}`),
		"POST /v1/surveys/flu:stop": answers(http.StatusOK, `{"survey":"flu","state":"stopping","cause":"stopped"}`),
		"DELETE /v1/surveys/flu":    answers(http.StatusNoContent, ""), "DELETE /v1/contacts/c1": answers(http.StatusOK, `{"id":"c1","state":"done","outcome":"canceled"}`),
	})
	for _, c := range []struct{ args, typed, asked, done string }{
		{"channel delete sms", "y\n", "this deletes channel sms: 12,345 contacts queued, 2 slots in flight. Continue? [y/N] ", "sms: deleted\n"},
		{"survey delete flu", "YES\n", "this deletes survey flu, its respondents and their results. Continue? [y/N] ", "flu: deleted\n"},
		{"survey stop flu", "y\n", "this stops survey flu permanently and cancels 1,234 unfinished respondents. Continue? [y/N] ", "flu: stopping (stopped by a user)\n"},
		{"contact cancel c1", "y", "this cancels contact c1. Continue? [y/N] ", "c1: canceled\n"},
	} {
		s := &screenful{columns: 80, rows: 24}
		code := cli.Run(t.Context(), strings.Fields(c.args), s.options(f.url, strings.NewReader(c.typed), nil))
		if out, err := s.text(); code != app.OK || out != c.done || err != c.asked {
			t.Errorf("%s: %d %q %q", c.args, code, out, err)
		}
		before := len(f.requests())
		for _, typed := range []string{"n\n", "\n", "", "yesterday\n"} {
			s := &screenful{columns: 80, rows: 24}
			code := cli.Run(t.Context(), strings.Fields(c.args), s.options(f.url, strings.NewReader(typed), nil))
			if out, err := s.text(); code != app.Failure || out != "" || !strings.Contains(err, "canceled; nothing was changed") {
				t.Errorf("%s, %q: %d %q %q", c.args, typed, code, out, err)
			}
		}
		for _, asked := range f.requests()[before:] {
			if !strings.HasPrefix(asked, "GET") {
				t.Errorf("%s: %s although it was not confirmed", c.args, asked)
			}
		}
		// Without a terminal for the prompt, the command needs --yes.
		clitest.Check(t, at(t, f.url, "y\n", strings.Fields(c.args)...), app.Usage, "^$", "add --yes")
		same(t, at(t, f.url, "", strings.Fields(c.args+" --yes")...), app.OK, c.done, "")
	}
}
