package operators_test

import (
	"testing"

	"weir/persistence"
	"weir/persistence/plantest"
)

func TestPlansSQLite(t *testing.T) { plantest.Minutes((*persistence.Store).Statements).SQLite(t) }
func TestPlansMySQL(t *testing.T)  { plantest.Minutes((*persistence.Store).Statements).MySQL(t) }
