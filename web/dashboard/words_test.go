package dashboard

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/web/dashboard/locale"
)

func TestAPIWords_HaveWhatPagesShow(t *testing.T) {
	t.Parallel()
	var names []string
	add := func(name string) { names = append(names, strings.ReplaceAll(name, "_", " ")) }
	for _, x := range weir.Outcomes() {
		add(string(x))
	}
	for _, x := range []weir.Health{weir.Up, weir.Down, weir.Erring, weir.Paused, weir.Faulted} {
		add(string(x))
	}
	for _, x := range surveys.States() {
		add(string(x))
	}
	for _, x := range surveys.Statuses() {
		add(string(x))
	}
	for _, x := range surveys.Dispositions() {
		add(string(x))
	}
	for _, x := range []people.Source{people.FromWord, people.FromProvider, people.FromApplication, people.FromOperator, people.FromImport} {
		add(string(x))
	}
	for _, code := range []operators.WhyCode{operators.WhyError, operators.WhyBraked, operators.WhyPaused, operators.WhyDraft, operators.WhyDeleting, operators.WhyRetry,
		operators.WhyActive, operators.WhyBudget, operators.WhyTarget, operators.WhyBatch, operators.WhyCapacity, operators.WhyRate} {
		head, _ := code.Headline(time.Time{}, time.Now())
		names = append(names, head)
	}
	words := apiWords()
	for _, name := range names {
		if !slices.Contains(words, locale.Message(name)) {
			t.Errorf("%q has no word", name)
		}
	}
}

// TestWords_OfAClosedListAreDifferentInEveryLanguage is scenario 404: two values of a list that a page shows side by side never
// have one word.
func TestWords_OfAClosedListAreDifferentInEveryLanguage(t *testing.T) {
	t.Parallel()
	var heads []string
	for _, code := range []operators.WhyCode{operators.WhyError, operators.WhyBraked, operators.WhyPaused, operators.WhyDraft, operators.WhyDeleting, operators.WhyRetry,
		operators.WhyActive, operators.WhyBudget, operators.WhyTarget, operators.WhyCapacity, operators.WhyRate} {
		head, _ := code.Headline(time.Time{}, time.Now())
		heads = append(heads, head)
	}
	lists := map[string][]string{
		"outcomes": textsOf(weir.Outcomes()), "states of surveys": append(textsOf(surveys.States()), "locked"), "statuses": textsOf(surveys.Statuses()), "dispositions": textsOf(surveys.Dispositions()),
		"health":              textsOf([]weir.Health{weir.Up, weir.Down, weir.Erring, weir.Paused, weir.Faulted}),
		"sources":             textsOf([]people.Source{people.FromWord, people.FromProvider, people.FromApplication, people.FromOperator, people.FromImport}),
		"states of contacts":  {"queued", "sending", "active", "unknown", "done"},
		"priorities":          {"normal", "high", "reply"},
		"consents":            {"refused", "given", "dismissed"},
		"rules":               {"quiet hours", "holidays", "repeat guard", "consent"},
		"causes":              {"exhausted", "reached", "window over", "stopped", "budget spent"},
		"tokens and webhooks": {"live", "revoked", "expired", "enabled", "failing", "disabled", "delivered", "abandoned", "timeout", "unreachable", "unresolved", "invalid", "internal"},
		"reasons":             heads,
	}
	for _, l := range locale.New().List() {
		var steps []string
		for _, step := range surveys.Funnel() {
			name, _ := stepText(l, step)
			steps = append(steps, name)
		}
		different(t, l, "steps", steps, func(text string) string { return text })
		for name, values := range lists {
			different(t, l, name, values, l.Word)
		}
		for _, mode := range surveys.Modes() {
			if text := attemptWord(l, mode, weir.Completed); text == l.Word(string(surveys.Complete)) {
				t.Errorf("%s: an attempt by %s is %q, as an interview is", l.Code, mode, text)
			}
		}
		if a, b := l.Amount("2.9"), l.Number(2.9); a != b {
			t.Errorf("%s: money is written %s, other numbers %s", l.Code, a, b)
		}
	}
}

func textsOf[T ~string](values []T) (list []string) {
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}

func different(t *testing.T, l *locale.Locale, name string, values []string, word func(string) string) {
	t.Helper()
	of := map[string]string{}
	for _, v := range values {
		text := strings.ToLower(word(v))
		if other, taken := of[text]; taken && other != v {
			t.Errorf("%s: of the %s, %q and %q are both %q", l.Code, name, other, v, text)
		}
		of[text] = v
	}
}
