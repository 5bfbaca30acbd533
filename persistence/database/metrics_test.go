package database

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics_KeepTheNamingRules(t *testing.T) {
	t.Parallel()
	r := prometheus.NewPedanticRegistry()
	NewMetrics(r)
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("problems %v (%v)", problems, err)
	}
	n, err := testutil.GatherAndCount(r, "weir_db_transactions_total", "weir_db_errors_total", "weir_db_transaction_retries_total",
		"weir_db_transaction_duration_seconds", "weir_db_batch_changes", "weir_db_clock_skew_seconds")
	if want := 2 + len(errorCodes()) + 4; n != want || err != nil {
		t.Errorf("%d series at the start, want %d (%v)", n, want, err)
	}
}
