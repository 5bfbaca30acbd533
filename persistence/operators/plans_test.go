package operators_test

import (
	"testing"

	"weir/persistence"
	"weir/persistence/plantest"
)

func TestPlans_UseIndexesOnSQLite(t *testing.T) {
	plantest.Minutes((*persistence.Store).Statements).SQLite(t)
}
func TestPlans_UseIndexesOnMySQL(t *testing.T) {
	plantest.Minutes((*persistence.Store).Statements).MySQL(t)
}
