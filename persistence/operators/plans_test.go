package operators_test

import (
	"testing"

	"weir/persistence"
	"weir/persistence/plantest"
)

func TestPlans_SQLite(t *testing.T) { plantest.Minutes((*persistence.Store).Statements).SQLite(t) }
func TestPlans_MySQL(t *testing.T)  { plantest.Minutes((*persistence.Store).Statements).MySQL(t) }
