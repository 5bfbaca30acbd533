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
