package app

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
)

// completionTime is the maximum time that shell completion waits for names.
const completionTime = 800 * time.Millisecond

const maxCompletions = 100

// NameSource requests names from Weir and passes them to found, which returns false when
// enough are found. If a request fails, the names found before are still offered.
type NameSource func(ctx context.Context, to *client.Client, found func(name, about string) bool) error

// completeArgs completes the argument of [Connection.Completing].
func (r *Connection) completeArgs() cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names := strings.Fields(c.Use)[1:]
		if len(args) >= len(names) || names[len(args)] != r.completed {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return r.completeNames(c, r.names, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNames returns the names that begin with prefix. If Weir does not answer within
// completionTime, only the names received so far are offered.
func (r *Connection) completeNames(c *cobra.Command, source NameSource, prefix string) []cobra.Completion {
	to, err := r.Connect(c, client.Options{MaxTries: 1, Timeout: completionTime})
	if err != nil {
		return nil
	}
	defer to.Close()
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	var out []cobra.Completion
	_ = source(ctx, to, func(name, about string) bool {
		if strings.HasPrefix(name, prefix) {
			out = append(out, cobra.CompletionWithDesc(name, about))
		}
		return len(out) < maxCompletions
	})
	return out
}

// SurveyNames is the source of the names of surveys.
func SurveyNames(ctx context.Context, to *client.Client, found func(name, about string) bool) error {
	for s, err := range to.Surveys(ctx, client.ListSurveysParams{}) {
		if err != nil || !found(s.Survey, string(s.State)) {
			return err
		}
	}
	return nil
}

// ChannelNames is the source of the names of channels.
func ChannelNames(ctx context.Context, to *client.Client, found func(name, about string) bool) error {
	for c, err := range to.Channels(ctx, client.ListChannelsParams{}) {
		if err != nil || !found(c.Channel, c.Type+", "+c.State) {
			return err
		}
	}
	return nil
}

// CompleteFlag completes a flag with names from a running Weir.
func (r *Connection) CompleteFlag(c *cobra.Command, flag string, source NameSource) {
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return r.completeNames(c, source, prefix), cobra.ShellCompDirectiveNoFileComp
	})
}
