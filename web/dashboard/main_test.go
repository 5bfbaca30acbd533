package dashboard_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain detects streams that outlive their browsers.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
