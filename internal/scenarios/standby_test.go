package scenarios_test

import (
	"strings"
	"testing"
)

// Only the process that runs a channel exports its metrics, so that a sum over all
// processes is correct.
func TestStandbyShowsNoFigures(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	a.channel("ch", 5)
	a.accept("ch", sms("a"))
	a.speaks("a")
	b.accept("ch", sms("b")) // now its process has a broker for the channel, too
	a.speaks("b")
	b.until("it stands by", func() bool { return b.metric("weir_brokers_running") == 1 })
	oneOwner(t, "ch", a, b)
	shows := func(w *world) bool {
		return strings.Contains(w.want(200, "GET", "/metrics", nil).Text, `weir_channel_capacity_contacts{channel="ch"}`)
	}
	a.until("the owner shows the channel", func() bool { return shows(a) })
	if shows(b) {
		t.Error("the standby shows it too")
	}
	a.finish("a", "b")
}
