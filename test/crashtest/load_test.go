package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/polling"
)

const (
	batchSize = 4
	backlog   = 40 // queued contacts above which known batches are repeated instead
	noBacklog = 0  // a new batch finds free slots and nothing that waits before it
)

// load feeds one channel and cancels contacts, as a survey system does that repeats
// every request without an answer. It records everything that was acknowledged.
type load struct {
	t       *testing.T
	api     *client
	out     *outside
	cancels bool
	backlog atomic.Int64

	mu       sync.Mutex
	random   *rand.Rand
	next     int
	batches  [][]map[string]any // acknowledged batches
	ids      map[string]string  // by key, as acknowledged
	canceled map[string]bool    // by id: acknowledged as canceled before dispatch

	stop context.CancelFunc
	work sync.WaitGroup
}

func newLoad(t *testing.T, api *client, out *outside, seed uint64, cancels bool) *load {
	t.Helper()
	l := &load{
		t: t, api: api, out: out, cancels: cancels, random: rand.New(rand.NewPCG(seed, 1)),
		ids: map[string]string{}, canceled: map[string]bool{},
	}
	l.backlog.Store(backlog)
	return l
}

// begin starts feeding, until end.
func (l *load) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	l.t.Cleanup(l.end)
	l.work.Go(func() {
		for rest(ctx.Done(), 15*time.Millisecond) {
			l.feed(ctx)
		}
	})
	if l.cancels {
		l.work.Go(func() {
			for rest(ctx.Done(), 40*time.Millisecond) {
				l.takeBack(ctx)
			}
		})
	}
}

// end stops feeding, and waits until the batches under way are acknowledged. The
// broker still has to finish their contacts: see settle.
func (l *load) end() {
	l.stop()
	l.work.Wait()
}

// feed posts a new batch, or repeats a known one if the backlog is large enough.
func (l *load) feed(ctx context.Context) {
	var f figures
	a := l.api.do(ctx, http.MethodGet, "/v1/channels/"+l.out.channel, nil)
	if a.status != http.StatusOK || json.Unmarshal(a.body, &f) != nil {
		return
	}
	l.mu.Lock()
	var batch []map[string]any
	known := f.Queued > l.backlog.Load() && len(l.batches) > 0
	if known {
		batch = l.batches[l.random.IntN(len(l.batches))]
	} else {
		batch = l.fresh(batchSize)
	}
	l.mu.Unlock()
	l.post(batch, known)
}

// fresh creates contacts. The caller holds the lock.
func (l *load) fresh(size int) []map[string]any {
	batch := make([]map[string]any, size)
	for i := range batch {
		n := l.next
		l.next++
		batch[i] = map[string]any{
			"key": fmt.Sprint(l.out.channel, n), "to": fmt.Sprintf("+1555%07d", n),
			"survey":   fmt.Sprint("s", l.random.IntN(3)),
			"priority": []string{"normal", "normal", "high", "reply"}[l.random.IntN(4)],
		}
		l.out.content(n, batch[i])
	}
	return batch
}

// post sends a batch until it is acknowledged, even after feeding has ended:
// without an answer it is unknown whether the batch was stored.
func (l *load) post(batch []map[string]any, known bool) {
	var a answer
	if !polling.Until(time.Minute, 10*time.Millisecond, func() bool {
		a = l.api.do(context.Background(), http.MethodPost, "/v1/channels/"+l.out.channel+"/contacts", map[string]any{"contacts": batch})
		switch {
		case a.status == http.StatusAccepted:
			l.acknowledged(batch, a.body, known)
			return true
		case a.status != 0 && a.status != http.StatusServiceUnavailable:
			l.t.Errorf("%s: a batch was answered %d %s", l.out.channel, a.status, a.body)
			return true
		case a.status == http.StatusServiceUnavailable && a.retryAfter == "":
			l.t.Errorf("%s: 503 without Retry-After", l.out.channel)
			return true
		}
		return false
	}) {
		l.t.Errorf("%s: a batch is not taken: %d %s", l.out.channel, a.status, a.body)
	}
}

func (l *load) acknowledged(batch []map[string]any, body []byte, known bool) {
	var list struct {
		Contacts []struct {
			ID, Key   string
			Duplicate bool
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Contacts) != len(batch) {
		l.t.Errorf("%s: a batch of %d was acknowledged with %s", l.out.channel, len(batch), body)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !known {
		l.batches = append(l.batches, batch)
	}
	for i, c := range list.Contacts {
		key, _ := batch[i]["key"].(string)
		before, again := l.ids[key]
		if c.Key != key || again && (c.ID != before || !c.Duplicate) {
			l.t.Errorf("%s: %s was acknowledged as %+v, before as %q", l.out.channel, key, c, before)
		}
		l.ids[key] = c.ID
	}
}

// takeBack cancels a random contact: mostly one that is at the provider, sometimes
// any recent one.
func (l *load) takeBack(ctx context.Context) {
	l.mu.Lock()
	active := l.random.IntN(4) > 0
	id := ""
	if len(l.batches) > 0 {
		recent := l.batches[max(0, len(l.batches)-12):]
		batch := recent[l.random.IntN(len(recent))]
		key, _ := batch[l.random.IntN(len(batch))]["key"].(string)
		id = l.ids[key]
	}
	l.mu.Unlock()
	if active {
		var list struct{ Contacts []contact }
		a := l.api.do(ctx, http.MethodGet, "/v1/contacts?state=active&limit=5&channel="+l.out.channel, nil)
		if a.status == http.StatusOK && json.Unmarshal(a.body, &list) == nil && len(list.Contacts) > 0 {
			id = list.Contacts[len(list.Contacts)-1].ID
		}
	}
	if id == "" {
		return
	}
	a := l.api.do(ctx, http.MethodDelete, "/v1/contacts/"+id, nil)
	switch a.status {
	case http.StatusOK:
		l.mu.Lock()
		l.canceled[id] = true
		l.mu.Unlock()
	case 0, http.StatusAccepted, http.StatusConflict, http.StatusServiceUnavailable:
	default:
		l.t.Errorf("%s: a cancellation was answered %d %s", l.out.channel, a.status, a.body)
	}
}
