package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
)

// completionTime is for how long a shell waits for names.
const completionTime = 800 * time.Millisecond

const mostCompletions = 100

// naming asks a Weir for names that begin somehow. Those that come after an error
// are lost.
type naming func(ctx context.Context, to *client.Client, found func(name, about string) bool) error

// names completes an argument with names that a running Weir knows. Where it
// cannot be asked in time there are none.
func (a *app) names(r *remote, ask naming) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if wanted := len(strings.Fields(c.Use)) - 1; len(args) >= wanted {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.known(c, r, ask, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) known(c *cobra.Command, r *remote, ask naming, begun string) []cobra.Completion {
	to, err := a.connectWith(c, r, client.Options{Tries: 1, Timeout: completionTime})
	if err != nil {
		return nil
	}
	defer to.Close()
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	var out []cobra.Completion
	_ = ask(ctx, to, func(name, about string) bool {
		if strings.HasPrefix(name, begun) {
			out = append(out, cobra.CompletionWithDesc(name, about))
		}
		return len(out) < mostCompletions
	})
	return out
}

func surveyNames(ctx context.Context, to *client.Client, found func(name, about string) bool) error {
	for s, err := range to.Surveys(ctx, client.ListSurveysParams{}) {
		if err != nil || !found(s.Survey, s.State) {
			return err
		}
	}
	return nil
}

func channelNames(ctx context.Context, to *client.Client, found func(name, about string) bool) error {
	for c, err := range to.Channels(ctx, client.ListChannelsParams{}) {
		if err != nil || !found(c.Channel, c.Type+", "+c.State) {
			return err
		}
	}
	return nil
}

// flagNames completes a flag with names that a running Weir knows.
func (a *app) flagNames(c *cobra.Command, r *remote, flag string, ask naming) {
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.known(c, r, ask, begun), cobra.ShellCompDirectiveNoFileComp
	})
}
