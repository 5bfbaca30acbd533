// Command traced is a broker whose executed statements are counted. The house program
// builds it with -cover -covermode=atomic and drives it over its standard input: the
// line "clear" sets all counters to zero, "write DIR" writes them into a folder; both
// are answered with "done". The first line that it prints is its address. It ends with
// its standard input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime/coverage"
	"strings"

	"weir/cmd/weir/daemon"
	"weir/config"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, _, err := config.Load(os.Environ())
	if err != nil {
		return err
	}
	d, err := daemon.New(ctx, daemon.Options{Config: c, Version: "traced"})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	_, _ = fmt.Fprintln(os.Stdout, d.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); _, _ = fmt.Fprintln(os.Stdout, "done") {
		if in.Text() == "clear" {
			err = coverage.ClearCounters()
		} else if dir, ok := strings.CutPrefix(in.Text(), "write "); ok {
			err = write(dir)
		}
		if err != nil {
			return err
		}
	}
	stop()
	return <-ended
}

func write(dir string) error {
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.WriteCountersDir(dir)
}
