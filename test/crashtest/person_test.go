package crashtest_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/polling"
)

// Bounds of TestOnePerson_StopsNoOther.
const (
	oneNumber  = "+15550123456"
	feedEvery  = 20 * time.Millisecond
	cpuOfClaim = 5 * time.Millisecond // with everything that it takes to answer, write and judge it
	cpuForRest = 300 * time.Millisecond
)

// TestOnePerson_StopsNoOther plays an attack: a client contacts one number thousands of times, and then once more a
// thousand times, all due at one instant, for a purpose with a cap over all purposes. No request is refused, no owner
// gives up, each claim costs little, and another channel goes on as before.
func TestOnePerson_StopsNoOther(t *testing.T) {
	if !size().alone {
		t.Parallel()
	}
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			if !size().alone {
				t.Parallel()
			}
			texts, calls := newSMS(t, 100), newCalls(t, 30)
			for _, o := range []*outside{texts, calls} {
				if err := o.faults.Set(); err != nil {
					t.Fatal(err)
				}
			}
			b := newBroker(t, database(t, store))
			b.env = append(b.env, "WEIR_SEND_CONCURRENCY=64", "WEIR_CONTACT_EVENTS=off")
			a := &attack{t: t, api: newClient(t, b.url), broker: b}
			b.start("")
			b.up()
			for _, o := range []*outside{texts, calls} {
				a.api.insist(http.MethodPut, "/v1/channels/"+o.channel, map[string]any{"type": o.kind, "capacity": o.capacity, "settings": o.settings}, http.StatusCreated, nil)
			}
			a.api.insist(http.MethodPut, "/v1/purposes/capped", map[string]any{"caps": []map[string]any{{"max": 3, "within": "7d", "over": "all"}}}, http.StatusCreated, nil)
			a.feed(calls)
			a.post(texts, size().earlier, "earlier", map[string]any{})
			if !polling.Until(10*time.Minute, 50*time.Millisecond, func() bool { return texts.tally.Line(texts.line).Taken >= size().earlier }) {
				t.Fatalf("%d of %d contacts were sent", texts.tally.Line(texts.line).Taken, size().earlier)
			}
			before, idle := a.watch(calls)
			late := size().late
			due := time.Now().Add(time.Second)
			a.post(texts, late, "late", map[string]any{"purpose": "capped", "not_before": due.Format(time.RFC3339Nano)})
			rest(nil, time.Until(due))
			during, spent := a.watch(calls)
			if !polling.Until(time.Minute, 100*time.Millisecond, func() bool { return a.held(texts) == late }) {
				t.Errorf("%d of %d contacts are held by the cap", a.held(texts), late)
			}
			t.Logf("CELL one person, %s: %d contacts of others before and %d during; %v of processor time before and %v during", store, before, during, idle, spent)
			if share := float64(during) / float64(before); share < size().othersShare {
				t.Errorf("the other channel sent %.2f of what it had sent before", share)
			}
			if most := cpuForRest + time.Duration(late)*cpuOfClaim; spent-idle > most {
				t.Errorf("%d claims for one person took %v of processor time, want up to %v", late, spent-idle, most)
			}
			if n := a.refused.Load(); n > 0 {
				t.Errorf("%d requests were refused", n)
			}
			select {
			case <-b.gone:
				t.Errorf("the owner has ended: %v", b.cmd.ProcessState)
			default:
				b.terminate()
			}
		})
	}
}

// attack is a client beside others.
type attack struct {
	t       *testing.T
	api     *client
	broker  *broker
	refused atomic.Int64
}

// post queues contacts to the one number.
func (a *attack) post(o *outside, n int, key string, more map[string]any) {
	a.t.Helper()
	const most = 1000
	for first := 0; first < n; first += most {
		var list []map[string]any
		for i := first; i < min(n, first+most); i++ {
			c := map[string]any{"key": fmt.Sprint(key, i), "to": oneNumber, "messages": []string{fmt.Sprint(key, i)}}
			for name, value := range more {
				c[name] = value
			}
			list = append(list, c)
		}
		if answer := a.api.do(a.t.Context(), http.MethodPost, "/v1/channels/"+o.channel+"/contacts", map[string]any{"contacts": list}); answer.status != http.StatusAccepted {
			a.refused.Add(1)
			a.t.Errorf("contacts from %d on were answered %d %s", first, answer.status, answer.body)
		}
	}
}

// feed queues contacts to other people until the test ends.
func (a *attack) feed(o *outside) {
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	a.t.Cleanup(func() { stop(); work.Wait() })
	work.Go(func() {
		for n := 0; rest(ctx.Done(), feedEvery); n++ {
			c := map[string]any{"key": fmt.Sprint("other", n), "to": fmt.Sprintf("+1666%07d", n)}
			o.content(n, c)
			answer := a.api.do(ctx, http.MethodPost, "/v1/channels/"+o.channel+"/contacts", map[string]any{"contacts": []any{c}})
			if ctx.Err() == nil && answer.status == http.StatusServiceUnavailable {
				a.refused.Add(1)
			}
		}
	})
}

// watch returns how many contacts the provider takes in a while, and the processor time of the program.
func (a *attack) watch(o *outside) (taken int, spent time.Duration) {
	before, used := o.tally.Line(o.line).Taken, cpuOf(a.broker.cmd.Process.Pid)
	rest(nil, size().watch)
	return o.tally.Line(o.line).Taken - before, cpuOf(a.broker.cmd.Process.Pid) - used
}

// held counts the contacts that the cap holds.
func (a *attack) held(o *outside) (n int) {
	var page struct {
		Contacts []struct {
			Rule string `json:"rule"`
		} `json:"contacts"`
	}
	a.api.insist(http.MethodGet, "/v1/contacts?limit=1000&state=queued&channel="+o.channel, nil, http.StatusOK, &page)
	for _, c := range page.Contacts {
		if c.Rule == "cap" {
			n++
		}
	}
	return n
}
