package surveys

import (
	"context"
	"reflect"

	"weir/limits"
	"weir/persistence/commit"
	"weir/surveys"
)

// Budgets decides by the budgets of surveys which contacts are claimed.
type Budgets interface {
	// SetBudget sets the budget of a survey in the batch that launches or changes it, or removes
	// it: nil. With check it refuses one that the survey cannot be run on; launch is said of one
	// that begins.
	SetBudget(t *commit.Tx, r *commit.Request, survey string, to *limits.SurveyBudget, check, launch bool) (refused bool, _ error)
}

// Budgets returns the budgets of the surveys that were launched, by name.
func (s *Definitions) Budgets(ctx context.Context) (map[string]*limits.SurveyBudget, error) {
	list, err := s.surveys(ctx, `WHERE name IS NOT NULL AND state <> ? AND definition LIKE '%"budget":%'`, string(surveys.Draft))
	all := map[string]*limits.SurveyBudget{}
	for i := range list {
		if b := list[i].Budget(); b != nil {
			all[list[i].Name] = b
		}
	}
	return all, err
}

// setBudget makes the budget of a survey hold that is launched, and a change of it. What a
// survey that is over has left in the queue is bounded, too.
func (s *Definitions) setBudget(t *commit.Tx, r *commit.Request, before *surveyRow, now *surveys.Survey) (refused bool, _ error) {
	was, err := before.survey()
	if err != nil {
		return false, err
	}
	launch := was.State == surveys.Draft
	// A launch without a budget ends that of a removed survey of its name.
	if now.State == surveys.Draft || !launch && was.Definition.Budget == nil && now.Definition.Budget == nil {
		return false, nil
	}
	check := launch || !reflect.DeepEqual(was.Definition.Budget, now.Definition.Budget)
	return s.budgets.SetBudget(t, r, was.Name, now.Budget(), check, launch)
}

// budgetRemoval ends the budget of a survey that was removed.
type budgetRemoval struct {
	s      *Definitions
	survey string
}

// Write implements [commit.Work].
func (w *budgetRemoval) Write(t *commit.Tx, r *commit.Request) error {
	_, err := w.s.budgets.SetBudget(t, r, w.survey, nil, false, false)
	return err
}
