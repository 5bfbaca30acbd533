package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Phases of a take-over, in their order. Each ends where the next one begins.
const (
	phaseWait   = "wait"   // the database had no owner
	phaseSchema = "schema" // it was taken; the schema was brought up to date, and the log of what is in flight was read
	phaseStart  = "start"  // the components started; at its end requests are served
	phaseResume = "resume" // channels and surveys continued; requests are served meanwhile
)

// takeOver measures how this process became the owner of the database.
type takeOver struct {
	seconds *prometheus.GaugeVec
	at      time.Time // when the current phase began
}

func newTakeOver(r prometheus.Registerer) *takeOver {
	return &takeOver{seconds: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{
		Name: "weir_takeover_seconds", Help: "How long each phase took in which this process became the owner of the database: wait (without an owner), schema, start, resume. No series before.",
	}, []string{"phase"})}
}

// begin notes that the database was taken at an instant, after it had no owner for a while.
func (t *takeOver) begin(at time.Time, vacancy time.Duration) {
	t.seconds.WithLabelValues(phaseWait).Set(vacancy.Seconds())
	t.at = at
}

// reached notes that a phase has ended.
func (t *takeOver) reached(phase string) {
	now := time.Now()
	t.seconds.WithLabelValues(phase).Set(now.Sub(t.at).Seconds())
	t.at = now
}
