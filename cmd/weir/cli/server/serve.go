// Package server holds the commands that run on the machine of the broker: they read
// its configuration, open its database, or run it.
package server

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/internal/memory"
)

// newLogger returns the logger of the process: text on a terminal, otherwise JSON,
// unless the configuration sets the format.
func newLogger(w io.Writer, level config.LogLevel, format config.LogFormat) *slog.Logger {
	o := &slog.HandlerOptions{Level: level.Level(), ReplaceAttr: formatDuration}
	if format == "text" || format == "" && command.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// formatDuration formats durations with their units, which JSON would leave out.
func formatDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// ServeCommand makes "weir serve".
func ServeCommand(a *app.App) *cobra.Command {
	var paused bool
	c := command.Plain("serve", "Run the broker", `Run the broker until SIGTERM or SIGINT.

On the first SIGTERM or SIGINT it drains: it dispatches no new contacts, finishes
running dispatches and exits with 0 within 25 s. A second signal ends the process at
once; acknowledged requests are never lost. SIGHUP is ignored, unless the log goes to a
terminal: then the terminal was closed, and the broker drains.

With --paused it sends nothing until "weir resume", also after a restart: it dispatches
no contact, sets up no provider, delivers no event and calls no function. Use it to
start on a restored copy of the database.`, func(ctx context.Context) error { return serve(ctx, a, paused) })
	c.Flags().BoolVar(&paused, "paused", false, "send nothing until \"weir resume\"")
	return c
}

// ResumeCommand makes "weir resume".
func ResumeCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	c := r.APICommand("resume", "Resume a broker that was started with --paused",
		"Resume a broker that was started with --paused: it dispatches contacts, delivers events\nand calls functions. Channels that are paused themselves stay paused.", "  weir resume",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			if _, err := to.ReleaseHold(ctx); err != nil {
				return err
			}
			return r.PrintResult("resumed")
		})
	r.AddConnectionFlags(c)
	return c
}

// serve runs the daemon. Warnings of the configuration go to its log.
func serve(ctx context.Context, a *app.App, paused bool) error {
	var warnings []string
	cfg, err := a.Environ.LoadConfig(func(w string) { warnings = append(warnings, w) })
	if err != nil {
		return err
	}
	cfg.Paused = cfg.Paused || paused
	logger := newLogger(a.Console.Stderr, cfg.LogLevel, cfg.LogFormat)
	for _, w := range warnings {
		logger.Warn("configuration warning", "warning", w)
	}
	stop := limitMemory(a.Environ, logger)
	defer stop()
	return daemon.Run(ctx, daemon.Options{Config: cfg, Logger: logger, Version: a.Version, NotifySocket: a.Environ.Value("NOTIFY_SOCKET")})
}

// limitMemory sets the garbage collector by the memory that this process may use, until stop is called.
func limitMemory(e app.Environ, log *slog.Logger) (stop func()) {
	s, stop := memory.Start(memory.Limit(os.DirFS("/")), memory.Variables{GOGC: e.Value("GOGC"), GOMEMLIMIT: e.Value("GOMEMLIMIT")})
	if s.SoftLimit > 0 {
		log.Info("memory limit of the container found", "soft_limit", s.SoftLimit)
	}
	return stop
}
