// Package surveys holds the commands "weir survey".
package surveys

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const about = `Create, run, show and delete the surveys of a running Weir.`

const example = `  weir survey put flu.json flu
  weir survey import people.csv flu --errors refused.csv
  weir survey launch flu
  weir survey status flu --watch
  weir survey export results flu`

// Command makes "weir survey".
func Command(a *app.App) *cobra.Command {
	r := a.NewConnection().Completing("NAME", app.SurveyNames)
	return r.APIGroup("survey", "Create, run, show and delete surveys", about, example,
		putCommand(a.Console, r), importCommand(a, r), pilotCommand(a, r), launchCommand(a, r),
		stateCommand(r, "pause", "Pause a survey", "Pause a survey: no respondent is contacted until it is resumed. Contacts in flight\nfinish normally, and answers are recorded.", (*client.Client).PauseSurvey),
		stateCommand(r, "resume", "Resume a paused survey", "", (*client.Client).ResumeSurvey),
		stateCommand(r, "lock", "Lock a running survey", "Lock a running survey: it cannot be paused, stopped, changed or deleted until it is unlocked.\nIt ends by itself all the same, and its respondents can be added, corrected, stopped\nand removed.", (*client.Client).LockSurvey),
		stateCommand(r, "unlock", "Unlock a survey", "", (*client.Client).UnlockSurvey),
		stopCommand(a.Console, r), statusCommand(a, r), answersCommand(a, r), respondentsCommand(a, r), setCommand(r), removeCommand(a.Console, r),
		correctCommand(a.Console, r), showCommand(a.Clock, r), cloneCommand(a.Console, r), listCommand(a, r), exportCommand(a, r), deleteCommand(r))
}

// stateCommand makes a command that requests a state change of a survey.
func stateCommand(r *app.Connection, step, short, long string, take func(*client.Client, context.Context, string) (*client.SurveyView, error)) *cobra.Command {
	return r.APICommand(step+" NAME", short, long, "  weir survey "+step+" flu", func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
		s, err := take(to, ctx, args[0])
		if err != nil {
			return err
		}
		return r.PrintResult("%s: %s", args[0], stateText(s.State, s.Cause, s.Locked))
	})
}

// stopCommand makes "weir survey stop".
func stopCommand(console *app.Console, r *app.Connection) *cobra.Command {
	var respondent string
	c := app.Confirmable(r.APICommand("stop NAME", "Stop a survey permanently, or one of its respondents", `Stop a survey permanently: unfinished respondents and their contacts are canceled, as far
as the provider can. A stopped survey cannot be resumed; to pause it, use
"weir survey pause".

With --respondent only this respondent is stopped, and the survey continues.`, "  weir survey stop flu\n  weir survey stop flu --yes\n  weir survey stop flu --respondent r2s",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if respondent != "" {
				x, err := to.StopRespondent(ctx, args[0], respondent)
				if err != nil {
					return err
				}
				return r.PrintResult("%s: %s", x.ID, respondentState(x))
			}
			if !app.Confirmed(c) { // the prompt shows what ends
				st, err := to.GetSurveyStats(ctx, args[0])
				if err != nil {
					return err
				}
				open := terminal.Plural(int64(st.Statuses["pending"]+st.Statuses["active"]), "unfinished respondent", "unfinished respondents")
				if err := console.Confirm(c, fmt.Sprintf("this stops survey %s permanently and cancels %s", args[0], open)); err != nil {
					return err
				}
			}
			s, err := to.StopSurvey(ctx, args[0])
			if err != nil {
				return err
			}
			return r.PrintResult("%s: %s", args[0], stateText(s.State, s.Cause, s.Locked))
		}))
	c.Flags().StringVar(&respondent, "respondent", "", "id of a respondent: stop only this one")
	return c
}

// deleteCommand makes "weir survey delete".
func deleteCommand(r *app.Connection) *cobra.Command {
	return r.DeleteCommand("delete NAME", "Delete a survey", `Delete a survey, its respondents, their results, its log and its pilots. A survey or pilot
that is running must be stopped first.`, "  weir survey delete flu --yes",
		"this deletes survey %s, its respondents and their results", "survey", (*client.Client).DeleteSurvey)
}

const (
	launchWait          = 15 * time.Minute
	launchRetryInterval = 2 * time.Second
)

// launchCommand makes the command that launches a survey. Checking the texts of a
// million respondents takes longer than a request may: the server then answers 503,
// and the command repeats the request.
func launchCommand(a *app.App, r *app.Connection) *cobra.Command {
	wait, missing := launchWait, command.NewChoice("refuse", "refuse", "skip")
	c := r.APICommand("launch NAME", "Launch a survey", `Check the survey (channels, schedule, the texts for each respondent) and start it. If
the check fails, the error lists the reasons.

A respondent who is missing a value used in the texts prevents the launch. With --missing
skip such respondents are listed and not contacted, unless "weir survey set" corrects them.

For a very large survey the check takes longer than one request; the request is then
repeated until the survey is launched, for at most --wait.`, "  weir survey launch flu\n  weir survey launch flu --missing skip",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			s, err := launch(ctx, a, to, args[0], missing.Value, wait)
			if err != nil {
				return err
			}
			warn(a.Console, s.Warnings)
			return r.PrintResult("%s: %s", args[0], stateText(s.State, s.Cause, s.Locked))
		})
	c.Flags().Var(&missing, "missing", "if respondents are missing a value used in the texts, refuse the launch or skip them")
	c.Flags().DurationVar(&wait, "wait", wait, "maximum time to repeat the request")
	return c
}

// warn prints warnings, each with its place.
func warn(console *app.Console, warnings []client.FieldError) {
	for _, w := range warnings {
		console.Warn(terminal.Visible(w.Pointer + ": " + w.Detail))
	}
}

// launch requests the launch until the survey is launched, for at most wait. The server
// answers 503 while its check takes longer than a request may.
func launch(ctx context.Context, a *app.App, to *client.Client, survey, missing string, wait time.Duration) (s *client.SurveyView, err error) {
	start, noted := a.Clock.Now(), false
	err = a.Watcher.Poll(ctx, launchRetryInterval, func() (done bool, err error) {
		s, err = to.LaunchSurvey(ctx, survey, client.LaunchSurveyParams{Missing: missing})
		if client.StatusOf(err) != http.StatusServiceUnavailable || a.Clock.Now().Sub(start) >= wait {
			return true, err
		}
		if !noted {
			noted = true
			a.Console.Note(fmt.Sprintf("not launched yet, retrying for up to %s: %s", terminal.Duration(wait), terminal.Visible(err.Error())))
		}
		return false, nil
	})
	return s, err
}

// listCommand makes "weir survey list".
func listCommand(a *app.App, r *app.Connection) *cobra.Command {
	var states []string
	c := r.WatchCommand("list", "List surveys", "List all surveys by name.", `  weir survey list
  weir survey list --state running --state paused --watch`,
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			l := a.Console.NewList(&r.Output, out, app.Column("SURVEY", 8), app.Column("STATE"), app.Column("LAUNCHED"), app.Column("ENDED"), app.Column("TITLE", 8))
			query := client.ListSurveysParams{State: strings.Join(states, ",")}
			return app.PrintList(l, to.Surveys(ctx, query), 0, func(s client.SurveySummary) []terminal.Cell {
				return app.Cells(s.Survey, app.StateCell(string(s.State)), a.Clock.FormatMinute(s.LaunchedAt), a.Clock.FormatMinute(s.EndedAt), s.Title)
			})
		})
	c.Flags().StringSliceVar(&states, "state", nil, "only surveys in these states: draft, running, paused, stopping, done (comma-separated)")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"draft", "running", "paused", "stopping", "done"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

const putAbout = `Create a survey, or replace a draft, from the definition in a JSON file ("-" for
standard input). If the definition is invalid, the error lists every invalid field.

Example of a definition:

  {"title": "Flu 2026",
   "schedule": {"time_zone": "America/Mexico_City", "weekdays": ["mon", "tue"],
                "windows": [{"from": "09:00", "to": "18:00"}]},
   "modes": {"ivr": {"channel": "calls", "retries": "2h 1d"},
             "sms": {"channel": "texts", "retries": "1d"}},
   "arms": [{"modes": ["ivr", "sms"]}],
   "questionnaires": {"flu": {
      "ivr": [{"call": {"callback_url": "https://app.example/ivr?t={{token}}"}}],
      "sms": [{"messages": ["Hello {{first_name}}, may we ask you something?"]}]}},
   "fallback_delay": "2h", "cutoff": 1000,
   "quotas": [{"where": {"region": {"in": ["north"]}}, "quota": 500}],
   "application": {"url": "https://app.example/messages", "secret": "…"}}`

// putCommand makes "weir survey put".
func putCommand(console *app.Console, r *app.Connection) *cobra.Command {
	var dry bool
	c := r.APICommand("put FILE NAME", "Create a survey, or replace a draft", putAbout, "  weir survey put flu.json flu",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			definition, err := console.ReadJSON(c, args[0])
			if err != nil {
				return err
			}
			// Sent as it is in the file: the server reports unknown fields.
			var s client.SurveyView
			put := client.Request{Method: http.MethodPut, Path: "/v1/surveys/" + url.PathEscape(args[1]), Body: definition}
			if dry {
				put.Query = url.Values{"dry_run": {"true"}}
			}
			if err := to.Do(ctx, put, &s); err != nil {
				return err
			}
			warn(console, s.Warnings)
			if dry {
				return console.PrintChecked(&r.Output, args[1])
			}
			return r.PrintResult("%s: saved, %s", args[1], stateText(s.State, s.Cause, s.Locked))
		})
	app.DryRunFlag(c, &dry)
	return c
}

const correctAbout = `Correct mistakes in the texts of a survey's questions after its launch, from a file ("-" for standard
input) with the whole definition or its questions alone, as "weir survey show NAME --definition" prints it. Only texts
may differ, with the same fields in them; what else does is listed, and nothing is changed. Who has read the old
text is not asked again. The audit log has both.`

// correctCommand makes "weir survey correct".
func correctCommand(console *app.Console, r *app.Connection) *cobra.Command {
	return r.APICommand("correct FILE NAME", "Correct texts of questions after the launch", correctAbout, "  weir survey correct flu.json flu",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			raw, err := console.ReadJSON(c, args[0])
			if err != nil {
				return err
			}
			var file map[string]json.RawMessage
			if err := json.Unmarshal(raw, &file); err != nil {
				return fmt.Errorf("%s is no definition: it must be a JSON object", args[0])
			}
			asked := raw // the questions alone: they have a member of that name, a list
			if inner := bytes.TrimSpace(file["questions"]); len(inner) > 0 && inner[0] == '{' {
				asked = inner
			}
			var s client.SurveyView
			patch := client.Request{Method: http.MethodPatch, Path: "/v1/surveys/" + url.PathEscape(args[1]), Body: map[string]any{"questions": asked}}
			if err := to.Do(ctx, patch, &s); err != nil {
				return err
			}
			warn(console, s.Warnings)
			return r.PrintResult("%s: corrected", args[1])
		})
}
