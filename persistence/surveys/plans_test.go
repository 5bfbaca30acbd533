package surveys_test

import (
	"testing"

	"weir/persistence"
	"weir/persistence/plantest"
)

func TestPlans_UseIndexesOnSQLite(t *testing.T) {
	plantest.Survey((*persistence.Store).SurveyStatements).SQLite(t)
}
func TestPlans_UseIndexesOnMySQL(t *testing.T) {
	plantest.Survey((*persistence.Store).SurveyStatements).MySQL(t)
}
