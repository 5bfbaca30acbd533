package cli

import (
	"context"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/daemon"
)

func (a *app) serve() *cobra.Command {
	var paused bool
	c := command.Plain("serve", "Run the broker", `Runs the broker until SIGTERM or SIGINT.

The first SIGTERM or SIGINT makes it drain: it starts nothing new, finishes what
is being handed over and exits with 0 within 25 seconds. A second one ends it at
once; even then nothing that was acknowledged is lost. SIGHUP is ignored, unless
the log goes to a terminal: then it means that the terminal is gone, and drains.

With --paused nothing is sent until "weir resume", also after a restart: no contact is
dispatched, no provider is set up, no event is delivered, no function is called. Use
it to start on a restored copy of the database.`, func(ctx context.Context) error { return a.runServe(ctx, paused) })
	c.Flags().BoolVar(&paused, "paused", false, "send nothing until weir resume")
	return c
}

func (a *app) resume() *cobra.Command {
	r := newRemote()
	c := a.speaking(r, "resume", "Resume a Weir that was started with --paused",
		"Resumes a Weir that was started with --paused: it dispatches contacts, delivers events\nand calls functions. Channels that are paused themselves stay paused.", "  weir resume",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			var raw []byte
			if _, err := to.CaptureBody(&raw).ReleaseHold(ctx); err != nil {
				return err
			}
			return a.told(r, raw, "resumed")
		})
	a.addressed(c, r)
	return c
}

func (a *app) runServe(ctx context.Context, paused bool) error {
	var warnings []string
	cfg, err := a.load(func(w string) { warnings = append(warnings, w) })
	if err != nil {
		return err
	}
	cfg.Paused = cfg.Paused || paused
	logger := newLogger(a.Stderr, cfg.LogLevel, cfg.LogFormat)
	for _, w := range warnings {
		logger.Warn("configuration", "warning", w)
	}
	return daemon.Run(ctx, daemon.Options{Config: cfg, Logger: logger, Version: a.Version, NotifySocket: a.environment("NOTIFY_SOCKET")})
}

// environment returns an environment variable that is not part of Weir's configuration.
func (a *app) environment(name string) string { return command.Environment(a.Environ, name) }
