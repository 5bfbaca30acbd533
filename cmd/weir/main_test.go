package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	lab "weir/cmd/weirlab/cli"
)

const asProgram = "WEIR_TEST_AS_PROGRAM"

// TestMain runs a program instead of the tests if asProgram is set: weirlab if that is its value.
func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
	case "weirlab":
		os.Exit(lab.Run(context.Background(), os.Args[1:], lab.Options{Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	default:
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// process is a running "weir serve".
type process struct {
	*exec.Cmd
	log *bufio.Scanner
}

func serve(t *testing.T, file string, env ...string) process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve")
	cmd.Env = append([]string{asProgram + "=1", "DATABASE_URL=sqlite://" + file, "LISTEN_ADDR=127.0.0.1:0", "LOG_FORMAT=json"}, env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return process{cmd, bufio.NewScanner(stderr)}
}

// says waits for a log line with msg and returns its address. A line that is not
// JSON is a report of the race detector, or a panic.
func (p process) says(t *testing.T, msg string) (address string) {
	t.Helper()
	for p.log.Scan() {
		var line struct{ Msg, Address, Took string }
		switch err := json.Unmarshal(p.log.Bytes(), &line); {
		case err != nil:
			t.Log(p.log.Text())
		case line.Msg == msg:
			return line.Address
		}
	}
	t.Fatalf("it never says %q", msg)
	return ""
}

func (p process) send(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends waits for an orderly exit.
func (p process) ends(t *testing.T) {
	t.Helper()
	for p.log.Scan() {
		t.Log(p.log.Text())
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMain_HangupOfADaemonIsIgnored(t *testing.T) {
	t.Parallel()
	p := serve(t, filepath.Join(t.TempDir(), "weir.db"))
	address := p.says(t, "listening")
	p.send(t, syscall.SIGHUP)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	p.send(t, syscall.SIGTERM)
	p.says(t, "stopped") // its duration "took" is a string with a unit
	p.ends(t)
}

// A second process on the same file stands by, whatever path it uses for the file,
// and shuts down in an orderly way on request.
func TestMain_StandbyEndsInOrder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weir.db")
	first := serve(t, file)
	first.says(t, "listening")
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	second := serve(t, link)
	second.says(t, "another process holds the database; standing by")
	second.send(t, syscall.SIGTERM)
	second.ends(t)
	first.send(t, syscall.SIGTERM)
	first.ends(t)
}

// The program refuses an invalid default capacity at startup, with the variable, its value and what
// is allowed.
func TestMain_WrongDefaultCapacityEndsTheProgram(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"abc", "0", "unlimited"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "serve")
		cmd.Env = []string{asProgram + "=1", "DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR=127.0.0.1:0", "DEFAULT_CHANNEL_CAPACITY=" + value}
		out, err := cmd.CombinedOutput()
		if want := "DEFAULT_CHANNEL_CAPACITY is \"" + value + "\"; allowed: 1 to 1000000"; err == nil || !strings.Contains(strings.ReplaceAll(string(out), `\"`, `"`), want) {
			t.Errorf("%s: %v: %s; want %s", value, err, out, want)
		}
	}
}
