package surveys_test

import (
	"testing"

	"weir/persistence"
	"weir/persistence/plantest"
)

func TestPlans_SQLite(t *testing.T) { plantest.Survey((*persistence.Store).SurveyStatements).SQLite(t) }
func TestPlans_MySQL(t *testing.T)  { plantest.Survey((*persistence.Store).SurveyStatements).MySQL(t) }
