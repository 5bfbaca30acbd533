package people

import (
	"context"
	"encoding/json"
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

const aboutPurposes = `Say what contacts are for, and which rules hold for them for the sake of the person: hours
in which nobody is contacted, how often one person is at most, whether a consent has to be
recorded. Contacts and surveys name a purpose; without a name
it is default. The rules are looked at when a contact is claimed, also if it waited already.

The token needs the scope people:admin; to list and show, contacts:read is enough.`

const purposeExample = `  weir purpose put research --quiet-hours 20:00-09:00 --time-zone Africa/Nairobi --cap 2/7d --repeat-guard 24h
  weir purpose put marketing --consent recorded
  weir purpose list`

// PurposeCommand makes "weir purpose".
func PurposeCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	return r.APIGroup("purpose", "Set the rules for the sake of people", aboutPurposes, purposeExample,
		purposeListCommand(a, r), purposeShowCommand(a, r), purposePutCommand(a, r), purposeDeleteCommand(r))
}

func purposeListCommand(a *app.App, r *app.Connection) *cobra.Command {
	return r.WatchCommand("list", "List purposes", "List all purposes by name, with their rules.", "  weir purpose list",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			all, err := to.ListPurposes(ctx)
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, out, app.Column("PURPOSE"), app.Column("RULES", 20), app.Column("TITLE", 8))
			for i := range all.Purposes {
				p := &all.Purposes[i]
				if err := l.Add(p, app.Cells(p.Name, strings.Join(ruleTexts(p), "; "), p.Title)...); err != nil {
					return err
				}
			}
			return l.Close()
		})
}

func purposeShowCommand(a *app.App, r *app.Connection) *cobra.Command {
	return app.ShowCommand(a.Clock, r, "show NAME", "Show a purpose", "Show the rules of a purpose.", "  weir purpose show research", (*client.Client).GetPurpose,
		func(_ *app.Clock, p *client.PurposeView, _ bool) string {
			lines := append([]string{terminal.Visible(strings.TrimSpace(p.Name + "  " + p.Title))}, ruleTexts(p)...)
			for _, h := range p.Holidays {
				lines = append(lines, "  "+h.Date+"  "+terminal.Visible(h.Name))
			}
			return strings.Join(lines, "\n") + "\n"
		})
}

// ruleTexts returns the rules of a purpose for people.
func ruleTexts(p *client.PurposeView) []string {
	list := []string{"whoever refused is not contacted"}
	switch {
	case p.Consent == "recorded":
		list[0] = "only whoever has agreed is contacted"
	case len(p.ExemptFrom) > 0:
		list[0] = "also whoever refused is contacted: " + terminal.Visible(p.ExemptReason)
	}
	if p.QuietHours.From != "" {
		list = append(list, "quiet hours "+p.QuietHours.From+" to "+p.QuietHours.To)
	}
	if p.TimeZone != "" {
		list = append(list, "people of unknown zone live in "+p.TimeZone)
	}
	for _, c := range p.Caps {
		text := fmt.Sprintf("at most %d in %s", c.Max, c.Within)
		if c.Kind == "calendar" {
			text += " of calendar days"
		}
		if c.Over == "all" {
			text += ", over all purposes"
		}
		list = append(list, text)
	}
	if p.RepeatGuard != "" {
		list = append(list, "the same text not again within "+p.RepeatGuard)
	}
	if p.Help != "" {
		list = append(list, "help is answered: "+terminal.Visible(p.Help))
	}
	if p.Confirmation != "" {
		list = append(list, "a stop word is confirmed: "+terminal.Visible(p.Confirmation))
	}
	if n := len(p.Holidays); n > 0 {
		list = append(list, terminal.Plural(n, "holiday", "holidays"))
	}
	return list
}

// purposeFlags are the flags for the rules of a purpose.
type purposeFlags struct {
	file, quiet, exempt string
	caps, holidays      []string
	body                client.Purpose
}

func purposePutCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f purposeFlags
	var params client.PutPurposeParams
	c := r.APICommand("put NAME", "Create or replace a purpose", `Set all rules of a purpose; the others are removed. When the command
returns, every later claim is judged by them, also of contacts that waited already. One
that waits for hours or for a cap looks at the rules again when that time has come.`, `  weir purpose put research --quiet-hours 20:00-09:00 --time-zone Africa/Nairobi --cap 2/7d
  weir purpose put reminders --cap 1/1d:calendar --cap 10/30d:all --holiday "2026-12-25=Christmas Day"
  weir purpose put emergency --despite-refusals "flood warnings, decided on 2026-11-02"
  weir purpose put research --file research.json`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if err := f.read(a, c); err != nil {
				return err
			}
			p, err := to.PutPurpose(ctx, args[0], f.body, params)
			if err != nil {
				return err
			}
			if params.DryRun {
				return a.Console.PrintChecked(&r.Output, args[0])
			}
			return a.Console.PrintValue(&r.Output, p, "%s: %s", p.Name, strings.Join(ruleTexts(p), "; "))
		})
	g := c.Flags()
	g.StringVarP(&f.file, "file", "f", "", `JSON file with the rules, "-" for standard input; other flags override it`)
	g.StringVar(&f.body.Title, "title", "", "for people")
	g.StringVar(&f.body.Consent, "consent", "", "unless_refused (default), or recorded: only whoever has agreed is contacted")
	g.StringVar(&f.quiet, "quiet-hours", "", "hours of the person's day without contacts, as FROM-TO, such as 20:00-09:00")
	g.StringVar(&f.body.TimeZone, "time-zone", "", "IANA zone of people whose zone is not known (default: UTC)")
	g.StringArrayVar(&f.caps, "cap", nil, "most contacts of one person, as MAX/TIME, such as 2/7d; behind it :calendar counts calendar days, :all the contacts of all purposes; repeatable")
	g.StringVar(&f.body.RepeatGuard, "repeat-guard", "", "the same text does not go to one address again within this time, such as 24h")
	g.StringVar(&f.body.Help, "help-text", "", "answer to a message such as help or info, at most once in 24 hours to a person")
	g.StringVar(&f.body.Confirmation, "confirmation", "", "the one answer to a stop word, within five minutes")
	g.StringArrayVar(&f.holidays, "holiday", nil, "day without contacts, as DATE or DATE=NAME; repeatable")
	g.StringVar(&f.exempt, "despite-refusals", "", "contact also people who refused, for this reason, which is in the audit log")
	app.DryRunFlag(c, &params.DryRun)
	return c
}

// read makes the body of file and flags.
func (f *purposeFlags) read(a *app.App, c *cobra.Command) error {
	if f.file != "" {
		text, err := a.Console.ReadJSON(c, f.file)
		if err != nil {
			return err
		}
		given := f.body
		if err := json.Unmarshal(text, &f.body); err != nil {
			return fmt.Errorf(`%s: must be an object such as {"quiet_hours": {"from": "20:00", "to": "09:00"}}`, f.file)
		}
		for name, field := range map[string]struct{ to, from *string }{
			"title": {&f.body.Title, &given.Title}, "consent": {&f.body.Consent, &given.Consent},
			"time-zone": {&f.body.TimeZone, &given.TimeZone}, "repeat-guard": {&f.body.RepeatGuard, &given.RepeatGuard},
			"help-text": {&f.body.Help, &given.Help}, "confirmation": {&f.body.Confirmation, &given.Confirmation},
		} {
			if c.Flags().Changed(name) {
				*field.to = *field.from
			}
		}
	}
	if f.quiet != "" {
		from, to, ok := strings.Cut(f.quiet, "-")
		if !ok {
			return command.UsageError(c, "--quiet-hours must be FROM-TO, such as 20:00-09:00")
		}
		f.body.QuietHours = client.Hours{From: from, To: to}
	}
	if len(f.caps) > 0 {
		f.body.Caps = nil
	}
	for _, text := range f.caps {
		one, err := readCap(text)
		if err != nil {
			return command.UsageError(c, err.Error())
		}
		f.body.Caps = append(f.body.Caps, one)
	}
	for _, text := range f.holidays {
		date, name, _ := strings.Cut(text, "=")
		f.body.Holidays = append(f.body.Holidays, client.Holiday{Date: date, Name: name})
	}
	if f.exempt != "" {
		f.body.ExemptFrom, f.body.ExemptReason = []client.PurposeExemptFrom{"consent"}, f.exempt
	}
	return nil
}

// readCap reads a cap, such as 2/7d:calendar:all.
func readCap(text string) (one client.Cap, err error) {
	parts := strings.Split(text, ":")
	most, within, ok := strings.Cut(parts[0], "/")
	if one.Max, err = strconv.Atoi(most); err != nil || !ok {
		return one, fmt.Errorf("--cap %s: must be MAX/TIME, such as 2/7d", text)
	}
	one.Within = within
	for _, word := range parts[1:] {
		switch word {
		case "calendar", "rolling":
			one.Kind = word
		case "all", "purpose":
			one.Over = word
		default:
			return one, fmt.Errorf("--cap %s: behind the time may stand calendar and all, not %q", text, word)
		}
	}
	return one, nil
}

func purposeDeleteCommand(r *app.Connection) *cobra.Command {
	return r.DeleteCommand("delete NAME", "Delete a purpose", "Delete a purpose that no survey names. For contacts that have it already its rules hold.", "  weir purpose delete research --yes",
		"this deletes the purpose %s", "purpose", (*client.Client).DeletePurpose)
}
