package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
)

func (a *app) surveyList(r *remote) *cobra.Command {
	var states []string
	var w watching
	c := a.speaking(r, "list", "List the surveys", "Lists the surveys by name.", `  weir survey list
  weir survey list --state running --state paused --watch`,
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) error {
			query := client.ListSurveysParams{State: strings.Join(states, ",")}
			return a.follow(ctx, &r.printing, &w, func(out io.Writer) error { return a.listSurveys(ctx, r, to, query, out) })
		})
	c.Flags().StringSliceVar(&states, "state", nil, "only surveys that are draft, running, paused, stopping or done; may be given several times")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"draft", "running", "paused", "stopping", "done"}, cobra.ShellCompDirectiveNoFileComp))
	w.flag(c)
	return c
}

func (a *app) listSurveys(ctx context.Context, r *remote, to *client.Client, query client.ListSurveysParams, out io.Writer) error {
	l := a.list(&r.printing, out, left("SURVEY", 8), left("STATE"), left("LAUNCHED"), left("ENDED"), left("TITLE", 8))
	_, err := printList(l, to.Surveys(ctx, query), 0, func(s client.SurveySummary) []terminal.Cell {
		return cells(s.Survey, stateCell(s.State), a.minute(s.LaunchedAt), a.minute(s.EndedAt), s.Title)
	})
	return err
}

// minute formats an instant for a column, to the minute.
func (a *app) minute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return a.shown(t).Format("2006-01-02 15:04")
}
