package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"weir/internal/polling"
)

const (
	restPolls = 4 // consecutive polls that must agree; the first is no later than the sweep
	restEvery = 110 * time.Millisecond
	restLimit = 15 * time.Second
)

// waitIdle waits until nothing more happens without an external event. In virtual
// time that is exact. In real time the brokers sweep their queues, and then several
// consecutive polls must find the same records of the provider, the brokers and the
// store, with no dispatch under way.
func (w *world) waitIdle() {
	w.Helper()
	if w.virtual {
		synctest.Wait()
		return
	}
	if w.running {
		_ = w.system.Resume(w.Context()) // fails where a test has broken the store
	}
	was, agree := "", 0
	if !polling.Until(restLimit, restEvery, func() bool {
		is, err := w.signs()
		if err != nil || is != was {
			agree = 0
		}
		if was = is; err != nil {
			was = err.Error()
			return false
		}
		agree++
		return agree == restPolls
	}) {
		w.Fatalf("not at rest within %v; the last poll: %s", restLimit, was)
	}
}

// signs returns a text that changes whenever anything is sent, claimed or committed.
// It fails while a claimed contact is on its way to the lab or its result on its
// way to the store.
func (w *world) signs() (string, error) {
	var out strings.Builder
	w.lab.behave(func(l *lab) {
		fmt.Fprintln(&out, "lab", len(l.sends), len(l.taken), len(l.asked), len(l.canceled), l.inFlight, l.held, l.prepared)
	})
	if w.store == nil { // a whole program
		return w.request("GET", "/v1/contacts?limit=1000", nil).Text, nil
	}
	ids, err := w.store.OpenChannels(context.Background())
	flights, err2 := w.store.Flights(context.Background(), ids)
	backlogs, err3 := w.store.Backlogs(context.Background(), ids)
	fmt.Fprintln(&out, "store", flights, backlogs, errors.Join(err, err2, err3))
	if !w.running {
		return out.String(), nil
	}
	families, err := w.metrics.Gather()
	if err != nil {
		return "", err
	}
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, "weir_channel_") && !strings.HasPrefix(name, "weir_contacts_") && name != "weir_provider_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			fmt.Fprintln(&out, name, m.GetLabel(), m.GetGauge().GetValue(), m.GetCounter().GetValue())
			channel, ours, held := m.GetLabel()[0].GetValue(), false, 0
			w.lab.behave(func(l *lab) { _, ours = l.address[channel]; held = l.held[channel] })
			if n := int(m.GetGauge().GetValue()); name == "weir_channel_sending_contacts" && ours && n > held {
				return "", fmt.Errorf("channel %s is sending %d contacts; the lab holds %d", channel, n, held)
			}
		}
	}
	return out.String(), nil
}
