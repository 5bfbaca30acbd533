package dashboard

import (
	"html/template"
	"strings"
	"time"

	"weir/operators"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// whyView is why something waits, as a page shows it.
type whyView struct {
	Head  locale.Message // see apiWords
	Alarm bool           // red
	Text  string
}

// whyOf returns nil if nothing waits. idle is since when nothing has moved; zero: that
// is not known.
func whyOf(code operators.WhyCode, text string, idle, now time.Time) *whyView {
	if text == "" {
		return nil
	}
	head, alarm := code.Headline(idle, now)
	return &whyView{locale.Message(head), alarm, text}
}

// sentence escapes a sentence and marks its instants up, so that they are shown in
// the reader's zone.
func sentence(limit int, text string) template.HTML {
	var b strings.Builder
	for _, c := range operators.Clauses(display.Truncate(limit, text)) {
		if c.At.IsZero() {
			template.HTMLEscape(&b, []byte(c.Text))
		} else {
			b.WriteString(string(locale.Instant(c.At)))
		}
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}
