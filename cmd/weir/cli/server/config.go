package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/cmd/weir/daemon"
	"weir/config"
)

// ConfigCommand makes "weir config".
func ConfigCommand(a *app.App) *cobra.Command {
	c := a.PlainCommand("config", "Show the configuration", `Show the configuration of "weir serve" in this environment, without secrets. A running
Weir keeps the configuration with which it was started.`, printConfig)
	check := a.PlainCommand("check", "Check the configuration", "Report every invalid variable, and variables without effect because their name is\nmisspelled; exit code 2 if there is any.", checkConfig)
	markdown := command.Plain("markdown", "Write the table of variables for the documentation", "", func(context.Context) error {
		return config.Markdown(a.Console.Stdout)
	})
	markdown.Hidden = true
	c.AddCommand(check, markdown)
	return c
}

// printConfig prints the variables with value and origin.
func printConfig(_ context.Context, a *app.App) error {
	cfg, err := a.Environ.LoadConfig(a.Console.Warn)
	if err != nil {
		return err
	}
	a.Console.Note("configuration of this environment; a running Weir may have another")
	return cfg.Print(a.Console.Stdout)
}

// checkConfig reports all invalid variables, and also what only serve would notice: the
// files of TLS, forbidden subscriptions, misspelled names.
func checkConfig(_ context.Context, a *app.App) error {
	cfg, err := a.Environ.LoadConfig(a.Console.Warn)
	if err != nil {
		return err
	}
	var wrong []error
	if cfg.TLS() {
		_, err := cfg.LoadCertificate()
		wrong = append(wrong, err)
	}
	if err := daemon.CheckSubscriptions(cfg); err != nil {
		wrong = append(wrong, command.Exit(app.Usage, err.Error()))
	}
	if unknown := config.Unknown(a.Environ); len(unknown) > 0 {
		wrong = append(wrong, command.Exit(app.Usage, terminal.Plural(int64(len(unknown)), "variable has no effect", "variables have no effect")+"; see the warnings"))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Console.Stdout, "the configuration is valid")
	return err
}
