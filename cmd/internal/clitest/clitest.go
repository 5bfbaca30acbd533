// Package clitest runs command lines in tests, and checks their exit codes and outputs.
package clitest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Result is the exit code of a command line, and its outputs.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs a command line.
func Run(command func(out, err io.Writer) (code int)) Result {
	var out, err strings.Builder
	code := command(&out, &err)
	return Result{Code: code, Out: out.String(), Err: err.String()}
}

// Start runs a command line that serves until its context ends, and returns its outputs
// line by line. stop ends it and returns the exit code.
func Start(t testing.TB, command func(ctx context.Context, out io.Writer) (code int)) (lines *bufio.Scanner, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- command(ctx, w)
		_ = w.Close()
	}()
	return bufio.NewScanner(r), func() int {
		cancel()
		_, _ = io.Copy(io.Discard, r)
		return <-code
	}
}

// Check compares a result with the wanted exit code, and its outputs with regular
// expressions.
func Check(t testing.TB, r Result, code int, out, err string) {
	t.Helper()
	if r.Code != code || !regexp.MustCompile(out).MatchString(r.Out) || !regexp.MustCompile(err).MatchString(r.Err) {
		t.Errorf("exit code %d, want %d\noutput (want %q):\n%s\nerrors (want %q):\n%s", r.Code, code, out, r.Out, err, r.Err)
	}
}

// Get requests a URL on a connection of its own.
func Get(t testing.TB, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Do(t, req)
}

// Do sends a request over a connection of its own.
func Do(t testing.TB, req *http.Request) (status int, body string) {
	t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) //nolint:gosec // of a server of the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
