package why

import (
	"html/template"
	"strings"
	"time"

	"weir/api"
	"weir/limits"
	"weir/operators"
	"weir/people"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// View is why something waits, as a page shows it.
type View struct {
	Head  locale.Message // see apiWords
	Alarm bool           // red
	Text  template.HTML
}

// Of returns nil if nothing waits. idle is since when nothing has moved; zero: that
// is not known. of is the channel whose page it is, which is not named again.
func Of(l *locale.Locale, why *api.WhyView, of string, idle, now time.Time) *View {
	if why.Why == "" {
		return nil
	}
	head, alarm := operators.WhyCode(why.WhyCode).Headline(idle, now)
	return &View{locale.Message(head), alarm, Clauses(l, why.WhyClauses, of)}
}

// Clauses shows clauses in a language, with their instants in the reader's zone. A channel of which this is the page
// is not named at the beginning.
func Clauses(l *locale.Locale, clauses []api.Clause, of string) template.HTML {
	text := operators.JoinClauses(clauses, func(c *api.Clause) string {
		text := l.Text(locale.Message(c.Sentence))
		if before, after, ok := strings.Cut(text, "{channel}: "); ok && c.Fields["channel"] == of && !strings.Contains(before, "{") {
			text = after
		}
		return c.Fill(template.HTMLEscapeString(text), func(name string) string { return string(clauseField(l, c, name)) })
	})
	return template.HTML(text) //nolint:gosec // escaped above
}

// contact shows why a contact waits, or why it ended or goes on later; of a reason at most so many characters.
func contact(l *locale.Locale, limit int, c *api.ContactView) template.HTML {
	if c.Why != "" {
		return Clauses(l, c.WhyClauses, "")
	}
	return sentence(limit, l.Reason(c.Reason))
}

// clauseField shows a field of a clause: one of a closed list in words, an instant in the reader's zone.
func clauseField(l *locale.Locale, c *api.Clause, name string) template.HTML {
	value := c.Fields[name]
	if at, ok := c.Instant(name); ok {
		return locale.Instant(at)
	}
	switch name {
	case "state", "mode", "day":
		value = l.Word(value)
	case "cap":
		value = l.Cap(value)
	case "cost":
		value = l.Amount(value)
	case "mistake":
		value = l.Mistake(value)
	case "reason":
		if rule := c.Fields["rule"]; rule != "" {
			value = RuleText(l, people.Rule(rule))
		}
		return sentence(300, l.Reason(value))
	}
	return template.HTML(template.HTMLEscapeString(value)) //nolint:gosec // escaped
}

// sentence escapes a sentence and marks its instants up, so that they are shown in
// the reader's zone.
func sentence(limit int, text string) template.HTML {
	var b strings.Builder
	for _, c := range operators.Parts(display.Truncate(limit, text)) {
		if c.At.IsZero() {
			template.HTMLEscape(&b, []byte(c.Text))
		} else {
			b.WriteString(string(locale.Instant(c.At)))
		}
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// Functions are what templates call to show why something waits.
func Functions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{
		"receipt":  func(r *api.ReceiptView) template.HTML { return Clauses(l, r.Clauses, "") },
		"sentence": sentence, "waits": func(limit int, c api.ContactView) template.HTML { return contact(l, limit, &c) },
	}
}

// RuleText describes the rule by which a contact was suppressed, or waits.
func RuleText(l *locale.Locale, r people.Rule) string {
	switch r {
	case people.RuleConsent:
		return l.T("consent: the person has refused")
	case people.RuleUnrecorded:
		return l.T("consent: none is recorded, and the purpose requires one")
	case people.RuleRepeat:
		return l.T("repeat guard: the same text was sent recently")
	case people.RuleCap:
		return l.T("cap: the person was contacted too often")
	case people.RuleHours:
		return l.T("quiet hours of the person")
	case people.RuleHoliday:
		return l.T("holiday, in the time zone of the person")
	case people.RuleOnlyTo:
		return l.T("only_to: the channel is limited to other addresses")
	case limits.RuleMoney:
		return l.T("money: what a limit allows is spent")
	case limits.RuleBudget:
		return l.T("money: the survey's budget is spent")
	case limits.RuleInFlight, limits.RulePerSecond, limits.RuleNewPeople:
		return l.T("shared limit of several channels")
	}
	return l.Word(string(r))
}
