package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

const surveyAbout = `Speaks to a running Weir about its surveys.

` + aboutRemote + `

` + aboutExits

const surveyExample = `  weir survey put flu.json flu
  weir survey import people.csv flu --errors refused.csv
  weir survey launch flu
  weir survey status flu --watch
  weir survey export results flu`

func (a *app) survey() *cobra.Command {
	r := newRemote()
	c := command.Group("survey", "Define, fill, run and follow surveys", surveyAbout,
		a.surveyPut(r), a.surveyImport(r), a.surveyLaunch(r),
		a.surveyStep(r, "pause", "Start and retry nobody", "Starts and retries nobody until the survey is resumed. What is out goes on, and\nanswers are taken.", (*client.Client).PauseSurvey),
		a.surveyStep(r, "resume", "Go on with a paused survey", "", (*client.Client).ResumeSurvey),
		a.surveyStop(r), a.surveyStatus(r), a.surveyShow(r), a.surveyList(r), a.surveyExport(r), a.surveyDelete(r))
	c.Example = surveyExample
	a.addressed(c, r)
	return c
}

// surveyStep makes a command that requests a state change of a survey.
func (a *app) surveyStep(r *remote, step, short, long string, take func(*client.Client, context.Context, string) (*client.SurveyView, error)) *cobra.Command {
	c := a.speaking(r, step+" NAME", short, long, "  weir survey "+step+" flu", func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
		var raw []byte
		s, err := take(to.CaptureBody(&raw), ctx, args[0])
		if err != nil {
			return err
		}
		return a.told(r, raw, "%s: %s", args[0], state(s.State, s.Cause))
	})
	c.ValidArgsFunction = a.names(r, surveyNames)
	return c
}

func (a *app) surveyStop(r *remote) *cobra.Command {
	c := a.speaking(r, "stop NAME", "End a survey for good", `Ends a survey for good: respondents who are not finished are canceled, and their
contacts too, as far as that is possible. A survey that is stopped cannot be resumed;
"weir survey pause" stops it for a while.`, "  weir survey stop flu\n  weir survey stop flu --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if !confirmed(c) { // the prompt shows what ends
				st, err := to.GetSurveyStats(ctx, args[0])
				if err != nil {
					return err
				}
				open := plural(int64(st.ByStatus["pending"]+st.ByStatus["active"]), "unfinished respondent", "unfinished respondents")
				if err := a.confirm(c, fmt.Sprintf("this ends survey %s for good and cancels %s", args[0], open)); err != nil {
					return err
				}
			}
			var raw []byte
			s, err := to.CaptureBody(&raw).StopSurvey(ctx, args[0])
			if err != nil {
				return err
			}
			return a.told(r, raw, "%s: %s", args[0], state(s.State, s.Cause))
		})
	c.ValidArgsFunction = a.names(r, surveyNames)
	return askable(c)
}

func (a *app) surveyDelete(r *remote) *cobra.Command {
	c := a.speaking(r, "delete NAME", "Remove a survey with everything that it has", `Removes a survey, its respondents, their results and its log. A survey that runs
has to be stopped before.`, "  weir survey delete flu --yes",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if err := a.confirm(c, "this deletes survey "+args[0]+", its respondents and their results"); err != nil {
				return err
			}
			if err := to.DeleteSurvey(ctx, args[0]); err != nil {
				return err
			}
			raw, err := json.Marshal(map[string]any{"survey": args[0], "deleted": true})
			if err != nil {
				return err
			}
			return a.told(r, raw, "%s: deleted", args[0])
		})
	c.ValidArgsFunction = a.names(r, surveyNames)
	return askable(c)
}

// told prints the result of a request: a sentence, or the response body as received.
func (a *app) told(r *remote, raw []byte, format string, args ...any) error {
	if r.json() {
		return a.rawLine(raw)
	}
	_, err := fmt.Fprintln(a.Stdout, terminal.Visible(fmt.Sprintf(format, args...)))
	return err
}

// rawLine writes a JSON value on a line of its own.
func (a *app) rawLine(raw []byte) error { return rawLine(a.Stdout, raw) }

func rawLine(out io.Writer, raw []byte) error {
	_, err := fmt.Fprintf(out, "%s\n", strings.TrimSpace(string(raw)))
	return err
}

func state(state, cause string) string {
	why := map[string]string{
		"exhausted": "nobody is left to be contacted", "reached": "it has as many as are wanted",
		"window_over": "its last window has closed", "stopped": "it was stopped",
	}[cause]
	if why == "" {
		return state
	}
	return state + ", because " + why
}

// zone returns the time zone for displayed times: TZ, or the local zone.
func (a *app) zone() *time.Location {
	if name := a.environment("TZ"); name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.Local
}

// shown converts an instant to the display zone. Columns have no room for the zone; Run prints it once.
func (a *app) shown(t time.Time) time.Time {
	a.zoned = true
	return t.In(a.zone())
}

// sayZone prints the zone of the displayed times, on a terminal. JSON output has instants in UTC instead.
func (a *app) sayZone(c *cobra.Command) {
	if form := c.Flags().Lookup("output"); form != nil && form.Value.String() != "table" {
		return
	}
	if _, _, terminal := a.size(a.Stderr); terminal && a.zoned {
		a.note("times are in " + a.now().In(a.zone()).Format("MST (UTC-07:00)") + "; the variable TZ chooses another zone, such as TZ=UTC")
	}
}

// now returns the current time.
func (a *app) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}
