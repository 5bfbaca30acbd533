package surveys

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/surveys"
)

// Metrics holds the metrics of the survey broker. The values of the label
// survey are names of surveys; those of channel are names of channels that
// surveys use.
type Metrics struct {
	started       *prometheus.CounterVec
	retried       *prometheus.CounterVec
	finished      *prometheus.CounterVec
	failedSteps   *prometheus.CounterVec
	backlog       *prometheus.GaugeVec
	credit        *prometheus.GaugeVec
	roundDuration prometheus.Histogram
	roundsFailed  prometheus.Counter
	outboxEntries prometheus.Gauge
	restarts      prometheus.Counter
	panics        prometheus.Counter
	brakes        *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	survey := []string{"survey"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		started:       counter("weir_survey_respondents_started_total", "Respondents whose first contact was enqueued.", survey...),
		retried:       counter("weir_survey_respondents_retried_total", "Retries and changes of mode that were enqueued.", survey...),
		finished:      counter("weir_survey_respondents_finished_total", "Respondents with a final status, by status.", "survey", "status"),
		failedSteps:   counter("weir_survey_respondents_stumbled_total", "Steps of respondents that failed because of their own data; the respondent is delayed.", survey...),
		backlog:       f.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_survey_backlog_contacts", Help: "Backlog of a survey: contacts that wait only for room in a channel that works, while its window is open. Stuck if above zero without new contacts."}, survey),
		credit:        f.NewGaugeVec(prometheus.GaugeOpts{Name: "weir_survey_credit_contacts", Help: "Contacts of surveys that a channel had room for at the latest poll."}, []string{"channel"}),
		roundDuration: f.NewHistogram(prometheus.HistogramOpts{Name: "weir_survey_round_duration_seconds", Help: "Duration of a round of the survey broker.", Buckets: prometheus.DefBuckets, NativeHistogramBucketFactor: 1.1}),
		roundsFailed:  f.NewCounter(prometheus.CounterOpts{Name: "weir_survey_rounds_failed_total", Help: "Rounds that ended early because the store failed."}),
		outboxEntries: f.NewGauge(prometheus.GaugeOpts{Name: "weir_survey_outbox_entries", Help: "Outbox entries that the latest round found, up to 1,000."}),
		restarts:      f.NewCounter(prometheus.CounterOpts{Name: "weir_survey_broker_restarts_total", Help: "Restarts of the survey broker after a panic."}),
		// The channels' brokers register the same metric, of the other kind.
		brakes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_brakes_total", Help: "Channels and surveys that paused themselves, by kind and cause.", ConstLabels: prometheus.Labels{"kind": "survey"},
		}, []string{"cause"}),
		panics: f.NewCounter(prometheus.CounterOpts{Name: "weir_survey_broker_panics_total", Help: "Panics in the survey broker and in the rules for one respondent."}),
	}
	for _, cause := range weir.BrakeCauses() {
		m.brakes.WithLabelValues(string(cause))
	}
	return m
}

// addSurvey creates the series of a survey at zero, so that rates have a start.
func (m *Metrics) addSurvey(name string) {
	m.started.WithLabelValues(name)
	m.retried.WithLabelValues(name)
	m.failedSteps.WithLabelValues(name)
	m.backlog.WithLabelValues(name)
	for _, s := range surveys.Statuses() {
		if s.Final() {
			m.finished.WithLabelValues(name, string(s))
		}
	}
}

// removeSurvey drops the series of a survey that is done or deleted.
func (m *Metrics) removeSurvey(name string) {
	label := prometheus.Labels{"survey": name}
	for _, v := range []*prometheus.CounterVec{m.started, m.retried, m.finished, m.failedSteps} {
		v.DeletePartialMatch(label)
	}
	m.backlog.DeletePartialMatch(label)
}
