package surveys

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/api"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const answersAbout = `Show how many respondents gave which answer to the questions that Weir asks, with the share of
those who answered, and what became of the question for the others. --by day, arm or language
shows the same for each of these, --attribute for each value of an attribute of the respondents
that is among the breakdowns of the survey. With a QUESTION, list what each respondent answered to it:
the way to read texts, which nobody counts. That needs the scope pii:read.

The answers of a pilot are shown under its name, NAME~pilot1.`

// answersCommand makes "weir survey answers".
func answersCommand(a *app.App, r *app.Connection) *cobra.Command {
	var texts client.ListSurveyTextsParams
	var attribute string
	by, arm, limit := command.NewChoice("", "day", "arm", "language"), -1, 100
	c := r.WatchCommand("answers NAME [QUESTION]", "Show what respondents answered", answersAbout, `  weir survey answers flu --watch
  weir survey answers flu --by language
  weir survey answers flu --attribute region
  weir survey answers flu why --search "no time"`,
		func(ctx context.Context, to *client.Client, args []string, out io.Writer) error {
			if len(args) > 1 {
				return printTexts(ctx, a, r, to, args, texts, limit, out)
			}
			view, err := to.GetSurveyAnswers(ctx, args[0], client.GetSurveyAnswersParams{Arm: &arm, By: by.Value, Attribute: attribute})
			if err != nil {
				return err
			}
			if r.JSON() {
				return app.WriteRaw(out, r.Body)
			}
			return printAnswers(a, r, out, view)
		})
	f := c.Flags()
	f.Var(&by, "by", "count the answers of each of these, too")
	f.StringVar(&attribute, "attribute", "", "in place of --by: count the answers of each value of this attribute, too")
	f.IntVar(&arm, "arm", arm, "only respondents of this arm, from 0; -1: of all")
	f.StringVar(&texts.Search, "search", "", "only answers that contain it, in any case, with or without accents")
	f.IntVar(&limit, "limit", limit, "maximum number of answers to the QUESTION; 0 lists all")
	valid := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		of := func(names ...string) bool { return slices.ContainsFunc(names, c.Flags().Changed) }
		switch {
		case limit < 0:
			return command.UsageError(c, "--limit must be 0 or more")
		case len(args) == 1 && of("search", "limit"):
			return command.UsageError(c, "--search and --limit are for a QUESTION")
		case of("by") && of("attribute"):
			return command.UsageError(c, "--by and --attribute exclude each other")
		case len(args) == 2 && of("by", "attribute", "arm"):
			return command.UsageError(c, "--by, --attribute and --arm are for all questions together")
		}
		return valid(c, args)
	}
	return c
}

// printTexts lists what was answered to a question.
func printTexts(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, args []string, p client.ListSurveyTextsParams, limit int, out io.Writer) error {
	l := a.Console.NewList(&r.Output, out, app.Column("RESPONDENT"), app.Column("AT"), app.Column("ANSWER", 8))
	p.Limit = app.PageSize(limit)
	err := app.PrintList(l, to.SurveyTexts(ctx, args[0], args[1], p), limit, func(x client.AnswerTextView) []terminal.Cell {
		return app.Cells(x.Respondent, a.Clock.FormatMinute(x.At), x.Text)
	})
	if l.More && err == nil && !r.JSON() {
		a.Console.Note("there are more answers; --limit sets the maximum, 0 lists all")
	}
	return err
}

// printAnswers prints a line for each answer, and for what else became of a question.
func printAnswers(a *app.App, r *app.Connection, out io.Writer, view *client.AnswersView) error {
	if len(view.Questions) == 0 {
		_, err := fmt.Fprintln(out, terminal.Visible(view.Survey)+": Weir asks no questions in this survey")
		return err
	}
	columns := []terminal.Column{app.Column("QUESTION"), app.Column("ANSWER", 8), app.NumberColumn("RESPONDENTS"), app.NumberColumn("SHARE")}
	if view.By != "" {
		columns = slices.Insert(columns, 1, app.Column(groupColumn(view)))
	}
	l := a.Console.NewList(&r.Output, out, columns...)
	lines := func(yield func(answerLine, error) bool) {
		for i := range view.Questions {
			for _, line := range answerLines(&view.Questions[i], view.By) {
				if !yield(line, nil) {
					return
				}
			}
		}
	}
	return app.PrintList(l, lines, 0, func(x answerLine) []terminal.Cell {
		cells := app.Cells(x.question, x.answer, x.count, x.share)
		if view.By != "" {
			cells = slices.Insert(cells, 1, app.TextCell(x.group))
		}
		return cells
	})
}

// groupColumn is the head of the column of groups.
func groupColumn(view *client.AnswersView) string {
	return terminal.Visible(strings.ToUpper(cmp.Or(view.Attribute, view.By)))
}

// answerLine is a line about a question.
type answerLine struct{ question, group, answer, count, share string }

// answerLines returns the lines about a question: of all its answers, or of those of each group.
func answerLines(q *client.AnswerCountsView, by string) (list []answerLine) {
	if by == "" {
		return groupLines(answerLine{question: q.Question}, q.Statuses, q.Values, q.Summary)
	}
	for i := range q.Groups {
		g := &q.Groups[i]
		group := g.Group
		switch {
		case g.Other:
			group = "(other)"
		case group == "" && by == "attribute":
			group = "(none)"
		case group == "":
			group = "unknown"
		}
		list = append(list, groupLines(answerLine{question: q.Question, group: group}, g.Statuses, g.Values, g.Summary)...)
	}
	return list
}

func groupLines(of answerLine, statuses map[api.AnswerStatus]int, values []client.ValueCountView, summary *client.AnswerSummaryView) (list []answerLine) {
	add := func(answer, count, share string) {
		of.answer, of.count, of.share = answer, count, share
		list = append(list, of)
	}
	answered := statuses["answered"]
	for _, v := range values {
		answer := v.Value
		if v.Below != "" {
			answer += " to below " + v.Below
		}
		add(answer, strconv.Itoa(v.Count), shareOf(v.Count, answered))
	}
	if summary != nil {
		text := "(median " + summary.Median + ")"
		if summary.Mean != "" {
			text = "(mean " + summary.Mean + ", median " + summary.Median + ")"
		}
		add(text, "", "")
	}
	for _, status := range answerStatuses() {
		if n := statuses[status]; n > 0 {
			add("("+string(status)+")", strconv.Itoa(n), "")
		}
	}
	if list == nil {
		add("(nobody yet)", "0", "")
	}
	return list
}

// answerStatuses returns the display order.
func answerStatuses() []api.AnswerStatus {
	return []api.AnswerStatus{"answered", "refused", "dont_know", "invalid", "skipped", "not_reached"}
}

// shareOf is the share of a count in those who answered.
func shareOf(n, answered int) string {
	if answered == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(answered))
}
