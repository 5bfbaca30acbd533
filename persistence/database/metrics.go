package database

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir/persistence/dialect"
)

// Metrics are the figures of a store.
type Metrics struct {
	Transactions *prometheus.CounterVec
	Duration     prometheus.Histogram
	Changes      prometheus.Histogram
	Errors       *prometheus.CounterVec
	Retries      prometheus.Counter
	Skew         prometheus.Gauge
	Waiting      prometheus.Gauge
	Down         prometheus.Gauge
	statements   *atomic.Pointer[dialect.Counter] // of the store that the figures are of
	server       *atomic.Pointer[func() string]   // of that store: the database server in use
}

// serverInUse is the figure that names the database server in use. A database that is a file
// has none.
type serverInUse struct {
	address func() string
	desc    *prometheus.Desc
}

func newServerInUse(address func() string) prometheus.Collector {
	return &serverInUse{address, prometheus.NewDesc("weir_db_server", "1 for the database server in use, HOST:PORT.", []string{"address"}, nil)}
}

// Describe implements prometheus.Collector.
func (s *serverInUse) Describe(out chan<- *prometheus.Desc) { out <- s.desc }

// Collect implements prometheus.Collector.
func (s *serverInUse) Collect(out chan<- prometheus.Metric) {
	if address := s.address(); address != "" {
		out <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, 1, address)
	}
}

// Results of a transaction of the writer.
const (
	ResultCommitted = "committed"
	ResultFailed    = "failed"
)

func errorCodes() []string {
	return []string{
		"deadlock", "lock_wait", "busy", "read_only", "connections", "full", "killed", "schema",
		"server", "refused", "timeout", "connection", "driver", "disk", "other", "stale", "superseded",
	}
}

// NewMetrics registers the figures, at zero.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	statements := new(atomic.Pointer[dialect.Counter])
	f.NewCounterFunc(prometheus.CounterOpts{
		Name: "weir_db_statements_total", Help: "Statements that the database was given.",
	}, func() float64 {
		if c := statements.Load(); c != nil {
			return float64(c.Count())
		}
		return 0
	})
	server := new(atomic.Pointer[func() string])
	r.MustRegister(newServerInUse(func() string {
		if address := server.Load(); address != nil {
			return (*address)()
		}
		return ""
	}))
	m := &Metrics{
		statements: statements,
		server:     server,
		Transactions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_db_transactions_total", Help: "Transactions of the group-commit writer.",
		}, []string{"result"}),
		Duration: f.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_db_transaction_duration_seconds", Help: "Time from BEGIN to the end of COMMIT of the writer's transactions.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}),
		Changes: f.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_db_batch_changes", Help: "Contacts that one transaction accepted or changed.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000},
		}),
		Errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_db_errors_total", Help: "Errors of the store by kind.",
		}, []string{"code"}),
		Retries: f.NewCounter(prometheus.CounterOpts{
			Name: "weir_db_transaction_retries_total", Help: "Transactions that were tried again.",
		}),
		Skew: f.NewGauge(prometheus.GaugeOpts{
			Name: "weir_db_clock_skew_seconds", Help: "Clock of the database minus clock of this process.",
		}),
		Waiting: f.NewGauge(prometheus.GaugeOpts{
			Name: "weir_db_waiting_requests", Help: "Requests that wait for the group-commit writer.",
		}),
		Down: f.NewGauge(prometheus.GaugeOpts{
			Name: "weir_db_down", Help: "1 while the group-commit writer cannot reach the database.",
		}),
	}
	for _, result := range []string{ResultCommitted, ResultFailed} {
		m.Transactions.WithLabelValues(result)
	}
	for _, code := range errorCodes() {
		m.Errors.WithLabelValues(code)
	}
	return m
}
