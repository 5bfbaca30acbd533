package peers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Up collects whether this process reaches its peers: the owner its standbys, and a standby
// the owner. Each has a series as long as it is there.
type Up struct {
	// Peers maps the addresses of the peers to whether they are reached.
	Peers func(now time.Time) map[string]bool
}

func (u Up) desc() *prometheus.Desc {
	return prometheus.NewDesc("weir_peer_up", "1 if this process reaches another one of its database at that address: the owner each standby, and a standby the owner; otherwise 0.", []string{"peer"}, nil)
}

// Describe implements prometheus.Collector.
func (u Up) Describe(to chan<- *prometheus.Desc) { to <- u.desc() }

// Collect implements prometheus.Collector.
func (u Up) Collect(to chan<- prometheus.Metric) {
	desc := u.desc()
	for address, up := range u.Peers(time.Now()) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(boolean(up)), address)
	}
}

// StandbysUp maps the addresses of the standbys whose last heartbeat is recent to whether the
// owner reaches them. If one was started again at its address, the newer start counts.
func StandbysUp(list []Standby, now time.Time) map[string]bool {
	up, start := map[string]bool{}, map[string]int64{}
	for _, s := range Living(list, now) {
		if s.Start > start[s.Address] {
			up[s.Address], start[s.Address] = s.Unreachable == "", s.Start
		}
	}
	return up
}

// OwnerUp maps the address of the owner, if there is one, to whether a standby that it
// answered last at an instant reaches it.
func OwnerUp(address string, reached, now time.Time) map[string]bool {
	if address == "" {
		return nil
	}
	return map[string]bool{address: now.Sub(reached) <= goneAfter}
}
