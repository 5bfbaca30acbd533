package surveys_test

import (
	"testing"

	"weir/persistence"
	"weir/persistence/plantest"
)

func TestPlansSQLite(t *testing.T) { plantest.Survey((*persistence.Store).SurveyStatements).SQLite(t) }
func TestPlansMySQL(t *testing.T)  { plantest.Survey((*persistence.Store).SurveyStatements).MySQL(t) }
