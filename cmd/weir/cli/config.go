package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weir/daemon"
	"weir/config"
)

func (a *app) config() *cobra.Command {
	c := command.Plain("config", "Show the configuration that serve would run with here", `Shows the configuration that "weir serve" would run with in this environment, without
its secrets. A Weir that is running has the environment in which it was started.`, a.printConfig)
	check := command.Plain("check", "Report every mistake in the configuration", "Reports every mistake in the configuration at once, and variables that do nothing because\ntheir name is not quite one of Weir's; exit code 2 if there is any.", a.checkConfig)
	markdown := command.Plain("markdown", "Write the table of variables for the documentation", "", func(context.Context) error {
		return config.Markdown(a.Stdout)
	})
	markdown.Hidden = true
	c.AddCommand(check, markdown)
	return c
}

func (a *app) printConfig(context.Context) error {
	cfg, err := a.load(a.complain)
	if err != nil {
		return err
	}
	a.note("the configuration of this environment; a Weir that runs already may have another")
	return cfg.Print(a.Stdout)
}

func (a *app) checkConfig(context.Context) error {
	cfg, err := a.load(a.complain)
	if err != nil {
		return err
	}
	var wrong []error
	if cfg.TLS() {
		_, err := cfg.LoadCertificate()
		wrong = append(wrong, err)
	}
	if err := daemon.CheckSubscriptions(cfg); err != nil {
		wrong = append(wrong, command.Exit(Misuse, err.Error()))
	}
	if unknown := config.Unknown(a.Environ); len(unknown) > 0 {
		wrong = append(wrong, command.Exit(Misuse, plural(int64(len(unknown)), "variable does nothing", "variables do nothing")+"; see the warnings"))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, "the configuration is fine")
	return err
}
