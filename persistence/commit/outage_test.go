package commit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
)

// figures returns the values of the store's metrics: counters and gauges by name and
// label, histograms by name with "_count" and "_sum".
func figures(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += "/" + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			values[name+"_count"] = float64(m.GetHistogram().GetSampleCount())
			values[name+"_sum"] = m.GetHistogram().GetSampleSum()
		}
	}
	return values
}

// observed opens a store on a faulty SQLite database, with its metrics and its log.
func observed(t *testing.T) (*persistence.Store, *storetest.Faulty, *prometheus.Registry, *bytes.Buffer) {
	t.Helper()
	registry, log := prometheus.NewRegistry(), &bytes.Buffer{}
	s, f := storetest.OpenFaulty(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), persistence.Options{
		Metrics: persistence.NewMetrics(registry), Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	return s, f, registry, log
}

// An outage is logged once and counted; while it lasts the writer tries once a second, so
// that it ends within a second after the database is back.
func TestWriter_OutageIsLoggedOnceAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, f, registry, log := observed(t)
		id, lease := storetest.OpenChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		contact := got[0].Contact
		for outage := range 2 {
			before := figures(t, registry)
			f.Set(true, nil)
			step := storetest.Advance(contact)
			contact = step.Contact
			result := storetest.Commit(s, lease, step)
			time.Sleep(time.Minute)
			during := figures(t, registry)
			if during["weir_db_down"] != 1 || during["weir_db_waiting_requests"] != 0 {
				t.Errorf("during outage %d the figures are %v", outage, during)
			}
			for _, name := range []string{"weir_db_transactions_total/failed", "weir_db_transaction_retries_total", "weir_db_errors_total/connection"} {
				if n := during[name] - before[name]; n < 60 || n > 66 {
					t.Errorf("%s grows by %v in a minute of outage", name, n)
				}
			}
			f.Set(false, nil)
			back := time.Now()
			if r := <-result; r.Err != nil || len(r.Stale) > 0 {
				t.Errorf("after outage %d: %+v", outage, r)
			}
			if took := time.Since(back); took > time.Second {
				t.Errorf("it is written %v after the database is back", took)
			}
			if after := figures(t, registry); after["weir_db_down"] != 0 {
				t.Errorf("after outage %d it is down still", outage)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, message := range []string{"store down; changes are kept and retried", "store available again"} {
			if n := strings.Count(log.String(), message); n != 2 {
				t.Errorf("%q is logged %d times for two outages", message, n)
			}
		}
	})
}

// Each transaction is counted with the rows that it changes, and reads its channels only
// if they are not known.
func TestWriter_CountsTransactionsAndTheirRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, registry, log := observed(t)
		id, _ := storetest.OpenChannel(t, s, "a")
		if err := s.WantContactEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		var statements []float64
		for range 3 {
			synctest.Wait() // what follows a transaction in the background is not a statement of the next
			before := figures(t, registry)
			if _, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1"}, {To: "2"}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			after := figures(t, registry)
			for name, want := range map[string]float64{
				"weir_db_transactions_total/committed": 1, "weir_db_transactions_total/failed": 0, "weir_db_transaction_duration_seconds_count": 1,
				"weir_db_batch_changes_count": 1, "weir_db_batch_changes_sum": 2,
			} {
				if n := after[name] - before[name]; n != want {
					t.Errorf("%s grows by %v, want %v", name, n, want)
				}
			}
			statements = append(statements, after["weir_db_statements_total"]-before["weir_db_statements_total"])
		}
		if statements[1] >= statements[0] || statements[2] != statements[1] {
			t.Errorf("three equal acceptances take %v statements", statements)
		}
		if _, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "b", Capacity: 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "contact events enabled"); n != 1 {
			t.Errorf("that events are enabled is logged %d times", n)
		}
	})
}

// A request whose caller has gone before it is written takes no transaction.
func TestWriter_AbandonedRequestTakesNoTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, registry, _ := observed(t)
		id, _ := storetest.OpenChannel(t, s, "a")
		before := figures(t, registry)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Accept(gone, id, []weir.Spec{{To: "1"}})
		wantUnavailable(t, err)
		synctest.Wait()
		after := figures(t, registry)
		for _, name := range []string{"weir_db_transactions_total/committed", "weir_db_transactions_total/failed"} {
			if n := after[name] - before[name]; n != 0 {
				t.Errorf("%s grows by %v", name, n)
			}
		}
		if n, err := s.QueuedCount(t.Context(), id); n != 0 || err != nil {
			t.Errorf("%d contacts are stored (%v)", n, err)
		}
	})
}

// The caller of a request leaves while it waits for the writer, and the broker that is to claim its contacts learns that
// nothing of it was stored.
func TestWriter_AbandonedRequestIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		id, lease := storetest.OpenChannel(t, s, "a")
		release := holdWriter(t, s, id, 1)
		ctx, leave := context.WithCancel(t.Context())
		a, err := s.NewAcceptance(ctx, id, specs(1))
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan error, 2)
		a.Submit(weir.Claims{By: lease, First: 1, Done: func(_ []weir.Accepted, err error) { answers <- err }})
		leave()
		release()
		synctest.Wait()
		if len(answers) != 1 {
			t.Fatalf("%d answers, want one", len(answers))
		}
		wantUnavailable(t, <-answers)
		if n, err := s.QueuedCount(t.Context(), id); n != 1 || err != nil {
			t.Errorf("%d contacts are stored, want that of the other caller (%v)", n, err)
		}
	})
}

// Nothing is written before the process is a member, and after its store was closed.
func TestWriter_WritesNothingUnlessItRuns(t *testing.T) {
	t.Parallel()
	s := storetest.OpenOnly(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), persistence.Options{})
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	accept := func(reason string) {
		t.Helper()
		_, err := s.Accept(t.Context(), 1, []weir.Spec{{To: "1"}})
		if wantUnavailable(t, err); err == nil || !strings.Contains(fmt.Sprintf("%v %v", err, errors.Unwrap(err)), reason) {
			t.Errorf("%v does not say that %s", err, reason)
		}
	}
	accept("the store was not joined")
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	accept("the store is closed")
}
