package router_test

import (
	"os"
	"testing"

	"weir/test/scenarios/world"
)

func TestMain(m *testing.M) { os.Exit(world.Run(m)) }
