package surveys

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const pilotAbout = `Ask a few people for real, as the survey is now, and show what comes back. The survey
itself stays as it is: a draft can be changed on. Hours, consents, caps and stop words hold
as in the survey, its dates, target and quotas do not, and nothing of a pilot is in its
results.

Without a NUMBER, the newest pilot is shown, or that of --pilot. Each pilot is a survey of
its own, NAME~pilot1 and so on, which "weir survey stop" and "weir survey delete" take, too.`

// pilotCommand makes "weir survey pilot".
func pilotCommand(a *app.App, r *app.Connection) *cobra.Command {
	var number int
	var language string
	var attributes []string
	var begun *client.PilotView // while --watch repeats
	c := r.WatchCommand("pilot NAME [NUMBER]...", "Ask a few people for real before the launch", pilotAbout, `  weir survey pilot flu +525512345678 --language es --watch
  weir survey pilot flu +525512345678 +525587654321 --attribute first_name=Ana
  weir survey pilot flu
  weir survey stop flu~pilot1 --yes`,
		func(ctx context.Context, to *client.Client, args []string, out io.Writer) (err error) {
			switch {
			case begun != nil:
				begun, err = to.GetPilot(ctx, args[0], strconv.Itoa(begun.Pilot))
			case len(args) > 1:
				begun, err = beginPilot(ctx, a, to, args, number, language, attributes)
			default:
				begun, err = findPilot(ctx, to, args[0], number)
			}
			if err != nil {
				return err
			}
			if r.JSON() {
				return app.WriteRaw(out, r.Body)
			}
			return printPilot(a, r, out, begun)
		})
	f := c.Flags()
	f.IntVar(&number, "pilot", 0, "number of the pilot to show, or to begin: the same command repeated asks nobody twice; 0: the newest, or the next")
	f.StringVar(&language, "language", "", "language in which they are asked: the attribute language")
	f.StringArrayVar(&attributes, "attribute", nil, "NAME=VALUE of an attribute that they have (repeatable)")
	valid := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		for _, text := range attributes {
			if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
				return command.UsageError(c, "--attribute must be NAME=VALUE")
			}
		}
		if len(args) == 1 && (language != "" || len(attributes) > 0) {
			return command.UsageError(c, "--language and --attribute are for a NUMBER")
		}
		return valid(c, args)
	}
	return c
}

// beginPilot begins a pilot with the numbers behind the name of its survey.
func beginPilot(ctx context.Context, a *app.App, to *client.Client, args []string, number int, language string, attributes []string) (*client.PilotView, error) {
	if number == 0 {
		list, err := to.ListPilots(ctx, args[0])
		if err != nil {
			return nil, err
		}
		number = list.Next
	}
	has := map[string]any{}
	for _, text := range attributes {
		name, value, _ := strings.Cut(text, "=")
		has[name] = value
	}
	if language != "" {
		has["language"] = language
	}
	var who client.PilotBody
	for _, phone := range args[1:] {
		who.Respondents = append(who.Respondents, client.RespondentBody{Phone: phone, Attributes: has})
	}
	begun, err := to.PutPilot(ctx, args[0], strconv.Itoa(number), who)
	if err == nil {
		warn(a.Console, begun.Warnings)
	}
	return begun, err
}

// findPilot reads a pilot; 0: the newest.
func findPilot(ctx context.Context, to *client.Client, survey string, number int) (*client.PilotView, error) {
	if number == 0 {
		list, err := to.ListPilots(ctx, survey)
		if err != nil {
			return nil, err
		}
		if len(list.Pilots) == 0 {
			return nil, fmt.Errorf("survey %s has no pilot yet; begin one with the NUMBER of a telephone", survey)
		}
		number = list.Pilots[0].Pilot
	}
	return to.GetPilot(ctx, survey, strconv.Itoa(number))
}

// printPilot prints a pilot: what became of it, and a line for each respondent with the answers.
func printPilot(a *app.App, r *app.Connection, out io.Writer, p *client.PilotView) error {
	state := p.Survey + ": " + stateText(p.State, p.Cause, p.Locked)
	if !p.Current {
		state += "; the survey has been changed since"
	}
	if _, err := fmt.Fprintln(out, terminal.Visible(state)); err != nil {
		return err
	}
	l := a.Console.NewList(&r.Output, out, app.Column("RESPONDENT"), app.Column("PHONE"), app.Column("STATUS"), app.Column("DISPOSITION"), app.Column("ANSWERS", 8))
	rows := func(yield func(client.RespondentView, error) bool) {
		for _, x := range p.Respondents {
			if !yield(x, nil) {
				return
			}
		}
	}
	return app.PrintList(l, rows, 0, func(x client.RespondentView) []terminal.Cell {
		var answers []string
		for _, q := range x.Answers {
			value := q.Value
			if value == "" {
				value = "(" + string(q.Status) + ")"
			}
			answers = append(answers, q.Question+"="+value)
		}
		return app.Cells(x.ID, x.Phone, app.StateCell(shownStatus(x.Status)), x.Disposition, strings.Join(answers, ", "))
	})
}
