package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"weir/cmd/weir/daemon"
)

func (a *app) serve() *cobra.Command {
	return plain("serve", "Run the broker", `Runs the broker until it is told to end.

The first SIGTERM or SIGINT makes it drain: it starts nothing new, finishes what
is being handed over and exits with 0 within 25 seconds. A second one ends it at
once; even then nothing that was acknowledged is lost. SIGHUP is ignored, unless
the log goes to a terminal: then it means that the terminal is gone, and drains.`, a.runServe)
}

func (a *app) runServe(ctx context.Context) error {
	var warnings []string
	cfg, err := a.load(func(w string) { warnings = append(warnings, w) })
	if err != nil {
		return err
	}
	logger := newLogger(a.Stderr, cfg.LogLevel, cfg.LogFormat)
	for _, w := range warnings {
		logger.Warn("configuration", "warning", w)
	}
	return daemon.Run(ctx, daemon.Options{Config: cfg, Logger: logger, Version: a.Version, NotifySocket: a.environment("NOTIFY_SOCKET")})
}

// environment reads a variable that is the system's, not Weir's.
func (a *app) environment(name string) string {
	for _, entry := range a.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
