package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weirlab/demo"
	"weir/internal/polling"
	"weir/persistence/testmysql"
)

// program builds weirlab, and weir beside it, the way users run them.
func program(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "weir/cmd/weir", "weir/cmd/weirlab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // also where the tests need cgo
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return filepath.Join(folder, "weirlab")
}

// command returns a command of the program with its own folder for temporary files.
func command(ctx context.Context, t *testing.T, program string, args ...string) (_ *exec.Cmd, temp string) {
	t.Helper()
	temp = t.TempDir()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	return cmd, temp
}

func left(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDemo_PassesDespiteAKill(t *testing.T) {
	t.Parallel()
	weirlab := program(t)
	t.Run("a kill on the way", func(t *testing.T) {
		t.Parallel()
		cmd, temp := command(t.Context(), t, weirlab, "demo", "--respondents", "120", "--capacity", "20", "--speed", "2")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, want := range []string{
			`vaccines: 72 respondents imported, 1 duplicate, 2 rows rejected\n`, `line 75, phone: the phone number is in scientific notation`,
			`water: 48 respondents imported, 0 duplicates, 0 rows rejected\n`,
			`(?s)kill -9 \d+: the broker is dead.*Now Weir asks 60 people 3 questions.*kill -9 \d+: the broker is dead`, `resumed after \d+\.\d+ s`,
			`calls +Verboice +\d+ +\d+ +\d+ of 20 +0 +0 +\d+\n`, `texts +Nuntium +\d+ +\d+ +\d+ of 20 +0 +0 +0\n`,
			`\n  sum +72 +48\n  in the file +72 +48\n`,
			`\n  consent +contacts suppressed +\d+\n  cap +contacts wait, canceled at the end +17\n  consent +respondents of follow-up opted out +\d+\n`,
			`refused by STOP\. After\s+Weir\s+had\s+accepted\s+that,\s+the\s+providers'\s+records\s+have\s+0\s+calls\s+and\s+messages\s+to\s+them`,
			`The\s+channel\s+texts\s+paused\s+itself:\s+\d+\s+of\s+the\s+last\s+\d+\s+contacts\s+failed,\s+the\s+bound\s+is\s+30\s+%,\s+after\s+\d+\s+contacts\.`,
			`Weir\s+itself\s+asked\s+60\s+people:\s+1\d\d\s+questions,\s+\d+\s+of\s+them\s+again\s+because\s+of\s+something\s+that\s+was\s+no\s+answer\.\s+Questions\s+asked\s+twice:\s+0,\s+skipped:\s+0,\s+answers\s+lost:\s+0\.`,
			`PASS: no respondent lost, none contacted twice for one attempt, never over capacity, nobody after STOP, no question asked twice or skipped, no\s+answer\s+lost; the broker was killed 2 times`,
		} {
			if !regexp.MustCompile(want).Match(text) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if bytes.Contains(text, []byte("\x1b")) {
			t.Error("there are control sequences in what is no terminal")
		}
		if names := left(t, temp); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	})
	t.Run("several processes", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // it takes about 45 s on two free cores
		defer cancel()
		cmd, _ := command(ctx, t, weirlab, "demo", "--processes", "3", "--respondents", "120", "--capacity", "10", "--speed", "4")
		temp, err := os.MkdirTemp("", "weir-") // the path of a socket of the database server is in it, and has to be short
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(temp) }()
		// It runs a server of its own, also where the tests have one.
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, testmysql.Variable+"=") }), "TMPDIR="+temp)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, want := range []string{
			`Process 1 on http://\S+\s+the\s+owner\s+of\s+the\s+database`, `Process 3 on http://\S+\s+a\s+standby`,
			`kill -9 \d+:\s+process\s+1,\s+the\s+owner,\s+is\s+dead`, `SIGTERM to process [23], the owner`, `kill -9 \d+:\s+process\s+\d,\s+a\s+standby,\s+is\s+dead`,
			`Process 4 is added`, `SIGSTOP to process \d, the owner`, `SIGCONT: process \d`,
			`calls +Verboice +\d+ +\d+ +\d+ of 10 +0 +0 +\d+\n`, `texts +Nuntium +\d+ +\d+ +\d+ of 10 +0 +0 +0\n`,
			`calls-2 +Verboice +\d+ +\d+ +\d+ of 10 +0 +0 +\d+\n`, `texts-2 +Nuntium +\d+ +\d+ +\d+ of 10 +0 +0 +0\n`,
			`Who owned the database\n\n.*\n +1 +killed +1 .*\n +[23] +SIGTERM +2 .*\n +\d +stood still +3 .*\n +\d +the end +4 .*\n`,
			`PASS: no respondent lost, none contacted twice for one attempt, never over capacity, nobody after STOP; the database had 4 owners, one after the\s+other`,
		} {
			if !regexp.MustCompile(want).Match(text) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if names := left(t, temp); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		cmd, temp := command(t.Context(), t, weirlab, "demo")
		var text bytes.Buffer
		cmd.Stderr = &text
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		seen := waitFor(t, out, "Two surveys share")
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text.String(), "interrupted") {
			t.Errorf("ended with %v: %s", err, text.String())
		}
		if names := left(t, temp); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
		pid := regexp.MustCompile(`\(process\s+(\d+)\)`).FindStringSubmatch(seen)
		if pid == nil {
			t.Fatalf("no process named in %s", seen)
		}
		if _, err := os.Stat("/proc/" + pid[1]); err == nil {
			t.Errorf("process %s is still there", pid[1])
		}
	})
}

// Live traffic goes on through what a person breaks, until it is interrupted.
func TestServe_ProvesItsTrafficUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	weirlab := program(t)
	t.Run("broken on the panel", func(t *testing.T) {
		t.Parallel()
		cmd, temp := command(t.Context(), t, weirlab, "demo", "--serve", "--speed", "4")
		seen, out := serve(t, cmd)
		panel, dashboard := named(t, seen, `Panel +(\S+)`), named(t, seen, `Dashboard +(\S+)`)
		if status, page := clitest.Do(t, request(t, http.MethodGet, dashboard, nil)); status != http.StatusOK || !strings.Contains(page, `type="password"`) {
			t.Errorf("the dashboard answers %d: %s", status, page)
		}
		shows := func(want string) {
			t.Helper()
			page := ""
			if !polling.Until(time.Minute, 100*time.Millisecond, func() bool {
				_, page = clitest.Do(t, request(t, http.MethodGet, panel, nil))
				return regexp.MustCompile(want).MatchString(page)
			}) {
				t.Fatalf("no %q on the panel:\n%s", want, page)
			}
		}
		choose := func(what string) {
			t.Helper()
			if status, page := clitest.Do(t, request(t, http.MethodPost, panel, url.Values{"break": {what}})); status != http.StatusOK { // after its redirection
				t.Errorf("%s: %d %s", what, status, page)
			}
		}
		shows(`Nuntium \(texts\)</h3>\s+<dl>\s+<div><dt>accepted by Weir</dt><dd>\d+</dd></div>\s+<div><dt>done</dt><dd>[1-9]`)
		choose("stop")
		shows(`writes STOP`)
		shows(`suppressed by the rule consent</dt><dd>[1-9]`)
		choose("down-calls")
		shows(`Verboice: down`)
		choose("kill")
		shows(`killed and started again</dt><dd>1<`)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil || !regexp.MustCompile(`PASS: nothing lost, nothing sent twice, never over capacity, nobody contacted after STOP, no question asked twice or skipped, no answer lost`).Match(rest) {
			t.Errorf("ended with %v\n%s", err, rest)
		}
		if names := left(t, temp); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
		gone(t, named(t, string(rest), `Started\s+again\s+\(process\s+(\d+)\)`))
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		cmd, _ := command(t.Context(), t, weirlab, "demo", "--serve")
		seen, out := serve(t, cmd)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		gone(t, named(t, seen, `\(process\s+(\d+)\)`))
	})
}

// serve starts the command and waits until it has named its addresses.
func serve(t *testing.T, cmd *exec.Cmd) (seen string, out io.Reader) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return waitFor(t, out, "Ctrl-C"), out
}

func named(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %q in %s", pattern, text)
	}
	return found[1]
}

func request(t *testing.T, method, target string, form url.Values) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// gone waits until a process is there no more.
func gone(t *testing.T, pid string) {
	t.Helper()
	if !polling.Until(20*time.Second, 10*time.Millisecond, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ") // a zombie has ended, whoever reaps it
	}) {
		t.Errorf("process %s is still there", pid)
	}
}

// Without a broker there is no log to keep.
func TestDemo_AProgramThatIsMissingLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	o := demo.Defaults()
	o.Program, o.Out, o.Respondents = filepath.Join(temp, "weir"), t.Output(), 10
	if err := demo.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "start the broker") {
		t.Errorf("got %v", err)
	}
	if names := left(t, temp); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// waitFor reads until a text has appeared.
func waitFor(t *testing.T, from io.Reader, want string) string {
	t.Helper()
	var seen strings.Builder
	part := make([]byte, 4096)
	for !strings.Contains(seen.String(), want) {
		n, err := from.Read(part)
		seen.Write(part[:n])
		if err != nil {
			t.Fatalf("no %q in %s", want, seen.String())
		}
	}
	return seen.String()
}

// A broker that cannot start leaves its log, and the error names the file.
func TestDemo_BrokerThatDoesNotStartLeavesItsLog(t *testing.T) {
	t.Parallel()
	// A shell that should run the script "serve" does not find it.
	name, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	o := demo.Defaults()
	o.Program, o.Out, o.Respondents = name, t.Output(), 10
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = demo.Run(ctx, o)
	if err == nil || errors.Is(err, demo.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	log := regexp.MustCompile(`exit status \d+\nthe broker's log: (.*weir-demo-.*)$`).FindStringSubmatch(err.Error())
	if log == nil {
		t.Fatalf("got %v; want the log's name", err)
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(log[1])) }()
	if text, err := os.ReadFile(log[1]); err != nil || !strings.Contains(string(text), "serve") {
		t.Errorf("the log holds %q, %v", text, err)
	}
}
