package processes_test

import (
	"os"
	"testing"

	"weir/internal/scenarios/world"
)

func TestMain(m *testing.M) { os.Exit(world.Run(m)) }
