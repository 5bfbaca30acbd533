package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
)

// start runs a command that serves until it is canceled, and returns its output
// line by line. stop cancels it and returns the exit code.
func start(t *testing.T, environ []string, args ...string) (lines *bufio.Scanner, stop func() int) {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, out io.Writer) int {
		return cli.Run(ctx, args, cli.Options{Environ: environ, Stdout: out, Stderr: out})
	})
}

func TestServe_RunsUntilASignal(t *testing.T) {
	t.Parallel()
	lines, stop := start(t, []string{
		"DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR=127.0.0.1:0", "WEIR_RETENTON=1d",
	}, "serve")
	var addr string
	warned := false
	for addr == "" && lines.Scan() {
		var line struct{ Msg, Address, Warning string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("a log line is not JSON without a terminal: %s", lines.Text())
		}
		warned = warned || strings.Contains(line.Warning, "WEIR_RETENTON")
		if line.Msg == "listening" {
			addr = line.Address
		}
	}
	if !warned {
		t.Error("no warning about the unknown variable")
	}
	if status, body := clitest.Get(t, "http://"+addr+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	clitest.Check(t, run(t, []string{"LISTEN_ADDR=" + addr}, "healthcheck"), app.OK, "^ready", "^$")
	if code := stop(); code != app.OK {
		t.Errorf("exit code %d after being told to end", code)
	}
}

func TestServe_LogsTextOnDemand(t *testing.T) {
	t.Parallel()
	lines, stop := start(t, []string{"DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR=127.0.0.1:0", "LOG_FORMAT=text"}, "serve")
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "time=") {
		t.Errorf("first line: %q", lines.Text())
	}
	stop()
}

// The example of a channel, which the page of the API prints as a command, is accepted.
func TestDescription_ExampleOfAChannelIsAccepted(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(raw, &description); err != nil {
		t.Fatal(err)
	}
	example := description.Paths["/v1/channels/{channel}"]["put"].RequestBody.Content["application/json"].Example
	b := newBroker(t)
	clitest.Check(t, at(t, b.url, string(example), "channel", "put", "texts", "--file", "-"), app.OK, "^texts: saved", "^$")
}
