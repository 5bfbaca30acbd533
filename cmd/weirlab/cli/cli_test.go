package cli_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/internal/command"
	"weir/cmd/weirlab/cli"
)

// run runs a command line.
func run(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(func(out, err io.Writer) int {
		return cli.Run(t.Context(), args, cli.Options{Version: "v9.9.9", Stdout: out, Stderr: err})
	})
}

func TestCommandLine_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"", command.Usage, "Usage:", "a command is missing"},
		{"--help", command.OK, "Exit codes, the same for every command", "^$"},
		{"dmo", command.Usage, "^$", `unknown command "dmo"; did you mean "demo"\?`},
		{"version", command.OK, `^weirlab v9\.9\.9 go1\.`, "^$"},
		{"demo --weir /no/such/program", command.Failure, "", "/no/such/program"},
		{"simulate", command.Usage, "verboice", "a command is missing"},
		{"simulate verboice --outcome nonsense", command.Usage, "^$", "no such outcome"},
		{"simulate verboice --fault nonsense", command.Usage, "^$", "nonsense"},
		{"simulate verboice --channel main,limit=x", command.Usage, "^$", "limit must be a whole number"},
		{"simulate verboice --channel main,lmit=1", command.Usage, "^$", `it has no "lmit"`},
		{"simulate verboice --channel main,disabled=yes", command.Usage, "^$", "disabled takes no value"},
		{"simulate verboice --channel main,pause=long", command.Usage, "^$", "pause must be a duration"},
		{"simulate nuntium --application ,password=x", command.Usage, "^$", "begins with no name"},
		{"simulate kannel --link SMSC,state=up", command.Usage, "^$", "want one of online"},
		{"simulate http", command.Usage, "^$", "want one of africastalking, infobip, telegram, vonage"},
		{"simulate http --vendor vonage --outcome sent", command.Usage, "^$", "want one of delivered, failed, silent, refused"},
		{"simulate twilio --outcome delivered=5", command.Usage, "^$", "want one of delivered"},
		{"simulate nuntium --listen 127.0.0.1:70000", command.Failure, "^$", "--listen"},
	} {
		t.Run("weirlab "+c.args, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, run(t, strings.Fields(c.args)...), c.code, c.out, c.err)
		})
	}
}

// The help of every command describes its purpose.
func TestCommandLine_HelpDescribesEveryCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"simulate", "simulate verboice", "simulate nuntium", "simulate kannel", "simulate twilio", "simulate http", "simulate acd", "demo", "bench", "version"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clitest.Check(t, run(t, append(strings.Fields(name), "--help")...), command.OK, "(?s)^[A-Z].*Usage:\n  weirlab "+name, "^$")
		})
	}
}

// The help of the simulators lists the words that a rule may contain.
func TestCommandLine_SimulatorsSayWhatFaultsMayName(t *testing.T) {
	t.Parallel()
	clitest.Check(t, run(t, "simulate", "verboice", "--help"), command.OK, `(?s)status=503.*send, state, cancel and channels.*CallStatus.*no-answer`, "^$")
	clitest.Check(t, run(t, "simulate", "nuntium", "--help"), command.OK, `(?s)status=503.*send, query and admin.*ack and\nincoming.*failover`, "^$")
}

func TestCommandLine_SimulateACDPrintsItsFigures(t *testing.T) {
	t.Parallel()
	clitest.Check(t, run(t, "simulate", "acd", "--agents", "40", "--contacts", "100", "--seed", "0"), command.OK,
		`(?s)^contacts +100 +agents +40\nassigned +100 +available +40 .*abandoned +0 +queued +0 .*wait of an assigned contact 0s; 5\d.*s simulated`, "^$")
	clitest.Check(t, run(t, "simulate", "acd", "-o", "json", "--agents", "4"), command.OK, `^\{"agents":4,"contacts":100,"assigned":\d+,"abandoned":[1-9]\d*,"available_at_end":4,"queued_at_end":0,`, "^$")
	clitest.Check(t, run(t, "simulate", "acd", "--agents", "0"), command.Usage, "^$", "must be 1 or more")
}

// start runs a command that serves until it is canceled, and returns its output
// line by line. stop cancels it and returns the exit code.
func start(t *testing.T, args ...string) (lines *bufio.Scanner, stop func() int) {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, out io.Writer) int {
		return cli.Run(ctx, args, cli.Options{Stdout: out, Stderr: out})
	})
}

func TestCommandLine_SimulatorsStartAndStop(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"verboice --account ann,password=p,token=t --channel main,id=3,limit=2,pause=1s,problem=line --channel spare,disabled --call-flow 7 --outcome busy:0.2 --fault status=503@send:#1 --seed 4",
		"nuntium --account demo --application weir,password=p,token=t,ack-url=http://127.0.0.1:1/ack,ack-method=get --channel sms,priority=2 --channel off,disabled --outcome failed:0.1 --time-scale 0.01",
		"kannel --username u --password p --link A,prefix=+1,prefix=1 --link B,state=re-connecting --outcome failed:0.1 --fault cut@send:#1 --incoming-url http://127.0.0.1:1/in?from=%p --retries 5 --retry-delay 1s",
		"http --vendor infobip --secret k --outcome failed:0.1 --fault cut@send:#1 --send-time 1s --deliver-time 1s --retry-delay 1s",
		"twilio --auth-token t --outcome busy:0.1 --outcome error=21610:*7 --fault cut@send:#1 --incoming-url http://127.0.0.1:1/in --retry-delay 1s",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			lines, stop := start(t, append([]string{"simulate", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)...)
			if !lines.Scan() {
				t.Fatal("it says nothing")
			}
			url := regexp.MustCompile(`http://[^ )]+/_simulator/records`).FindString(lines.Text())
			if status, body := clitest.Get(t, url); status != http.StatusOK || !strings.Contains(body, `"lines"`) {
				t.Errorf("records at %q: %d %s", url, status, body)
			}
			if code := stop(); code != command.OK {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
