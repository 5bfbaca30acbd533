package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"weir/config"
)

func (a *app) config() *cobra.Command {
	c := plain("config", "Show the configuration in force, without its secrets", "", a.printConfig)
	check := plain("check", "Report every mistake in the configuration", "Reports every mistake in the configuration at once; exit code 2 if there is one.", a.checkConfig)
	markdown := plain("markdown", "Write the table of variables for the documentation", "", func(context.Context) error {
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
	return cfg.Print(a.Stdout)
}

func (a *app) checkConfig(context.Context) error {
	cfg, err := a.load(a.complain)
	if err != nil {
		return err
	}
	if cfg.TLS() {
		if _, err := cfg.LoadCertificate(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.Stdout, "the configuration is fine")
	return err
}
