package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/cmd/weir/demo"
)

// program builds weir as people run it.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "weir")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", name, "weir/cmd/weir").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return name
}

// command is the program with a folder for temporary files of its own.
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

func TestDemo(t *testing.T) {
	t.Parallel()
	weir := program(t)
	t.Run("a kill on the way", func(t *testing.T) {
		t.Parallel()
		cmd, temp := command(t.Context(), t, weir, "demo", "--contacts", "120", "--capacity", "10", "--speed", "6")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, want := range []string{
			`kill -9 \d+: the broker is dead`, `resumed after \d+\.\d+ s`,
			`calls +Verboice +60 +\d+ +\d+ of 10 +0 +0 +\d+\n`, `sms +Nuntium +60 +60 +\d+ of 10 +0 +0 +0\n`,
			`PASS: nothing lost, nothing sent twice, never over capacity; the broker was killed once`,
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
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		cmd, temp := command(t.Context(), t, weir, "demo")
		var text bytes.Buffer
		cmd.Stderr = &text
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		seen := waitFor(t, out, "Feeding")
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

// waitFor reads until a text was there.
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

// A broker that cannot start leaves its log, and the error says where it is.
func TestABrokerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	// A shell that is to run the script "serve" finds none.
	name, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	o := demo.Defaults()
	o.Program, o.Out, o.Contacts = name, t.Output(), 2
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = demo.Run(ctx, o)
	if err == nil || errors.Is(err, demo.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	log := regexp.MustCompile(`exit status \d+\nwhat the broker said is in (.*weir-demo-.*)$`).FindStringSubmatch(err.Error())
	if log == nil {
		t.Fatalf("got %v; want the log's name", err)
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(log[1])) }()
	if text, err := os.ReadFile(log[1]); err != nil || !strings.Contains(string(text), "serve") {
		t.Errorf("the log holds %q, %v", text, err)
	}
}

func TestABadFileIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mine.csv")
	if err := os.WriteFile(file, []byte("channel,key,to,priority,survey,text,text2,text3\nfax,1,+15550001,normal,,x,,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := demo.Defaults()
	o.Out, o.File = t.Output(), file
	err := demo.Run(t.Context(), o)
	if want := file + ": line 2, column 1 (channel): want calls or sms"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
