package channels

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/operators"
)

// ledger is a store of minutes whose writes can fail halfway.
type ledger struct {
	operators.MinuteStore
	mu    sync.Mutex
	at    []time.Time // of each write
	kept  []operators.Minute
	take  int // how many of each write it accepts; the rest fails
	fails bool
}

func (l *ledger) AddMinutes(_ context.Context, list []operators.Minute) ([]operators.Minute, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = append(l.at, time.Now())
	n := len(list)
	if l.fails {
		n = min(n, l.take)
	}
	l.kept = append(l.kept, list[:n]...)
	if n < len(list) {
		return list[n:], errors.New("the store is down")
	}
	return nil, nil
}

// weather makes the store accept n of each write and refuse the rest; -1: it
// accepts all.
func (l *ledger) weather(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take, l.fails = n, n >= 0
}

// total sums a counter over the stored minutes.
func (l *ledger) total(c operators.Counter) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.kept {
		n += l.kept[i].Counts[c]
	}
	return n
}

// keeper runs the loop that writes minutes, in a bubble.
func keeper(t *testing.T) (*minutes, *ledger, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	store := new(ledger)
	m := newMinutes(time.Now(), store, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { m.run(ctx) })
	t.Cleanup(func() { cancel(); loop.Wait() })
	return m, store, log
}

// later lets time pass and waits for all that follows from it.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestMinutes_AreWrittenWhenTheyAreOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, store, log := keeper(t)
		begun := time.Now().UTC()
		m.of(7).count(operators.CountSent, 3)
		later(30 * time.Second)
		m.of(7).verdict(weir.Late)
		m.of(8) // exists, without any events
		want := operators.Minute{Channel: 7, At: begun}
		want.Counts[operators.CountSent], want.Counts[operators.CountLate] = 3, 1
		if d := cmp.Diff([]operators.Minute{want}, m.current()); d != "" {
			t.Errorf("the minute under way (-want +got):\n%s", d)
		}
		later(30*time.Second + minutesDelay)
		if d := cmp.Diff([]operators.Minute{want}, store.kept); d != "" {
			t.Errorf("written (-want +got):\n%s", d)
		}
		if list := m.current(); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		later(time.Hour)
		if len(store.kept) != 1 || len(store.at) != 1 || !store.at[0].Equal(begun.Add(time.Minute+minutesDelay)) {
			t.Errorf("in an hour in which nothing happened: %d minutes, written at %v", len(store.kept), store.at)
		}
		if log.Len() > 0 {
			t.Errorf("%s", log)
		}
	})
}

func TestMinutes_GaugesAreWrittenWhileSomethingIsInFlightAndWhenTheyChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minutes, store, _ := keeper(t)
		m := minutes.of(7)
		m.gauge(2, 5, 10)
		m.gauge(9, 4, 10)
		m.gauge(3, 1, 10)
		for range 4 { // max 9 in the first, 3 in the others
			later(time.Minute)
		}
		m.gauge(0, 1, 10)
		for range 5 { // max 3 in the first, 0 in the second, unchanged from then on
			later(time.Minute)
		}
		m.gauge(0, 0, 20)
		later(time.Minute)
		m.gauged.Store(false) // its broker ends
		later(2 * time.Minute)
		var got [][4]int64
		for _, k := range store.kept {
			if !k.Gauged || !k.Empty() {
				t.Errorf("%+v", k)
			}
			got = append(got, [4]int64{k.InFlight, k.MaxInFlight, k.Queued, k.Capacity})
		}
		if d := cmp.Diff([][4]int64{{3, 9, 1, 10}, {3, 3, 1, 10}, {3, 3, 1, 10}, {0, 3, 1, 10}, {0, 0, 1, 10}, {0, 0, 0, 20}}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// What a failed write stored is not written again; the rest waits and stays
// listed, and nothing is lost.
func TestMinutes_FailedWriteLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, store, log := keeper(t)
		store.weather(1)
		for i := range 4 {
			for id := range weir.ChannelID(3) {
				m.of(id+1).count(operators.CountSent, 1)
			}
			later(time.Minute + minutesDelay)
			if want := 3*(i+1) - len(store.kept); len(m.current()) != want || len(store.kept) != i+1 {
				t.Errorf("%d minutes are written, %d wait, want %d", len(store.kept), len(m.current()), want)
			}
		}
		store.weather(-1)
		later(time.Minute)
		if n := store.total(operators.CountSent); n != 12 || len(store.kept) != 12 || len(m.current()) != 0 {
			t.Errorf("12 were counted and %d written, in %d minutes; %d wait", n, len(store.kept), len(m.current()))
		}
		if n := strings.Count(log.String(), "channel minutes write failed"); n != 4 {
			t.Errorf("it was said %d times:\n%s", n, log)
		}
	})
}

func TestMinutes_AreDroppedWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, store, log := keeper(t)
		store.weather(0)
		const channels = maxWaitingMinutes/2 + 1
		for range 2 {
			for id := range weir.ChannelID(channels) {
				m.of(id+1).count(operators.CountSent, 1)
			}
			later(time.Minute + minutesDelay)
		}
		if n := len(m.current()); n != maxWaitingMinutes || !strings.Contains(log.String(), "minutes=2") {
			t.Errorf("%d wait\n%s", n, log)
		}
		store.weather(-1)
		later(time.Minute)
		if n := store.total(operators.CountSent); n != maxWaitingMinutes || strings.Count(log.String(), "dropped") != 1 {
			t.Errorf("%d were written\n%s", n, log)
		}
	})
}

func TestMinutes_TellTheRateOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, _ := keeper(t)
		rate := func() float64 { return m.perMinute(7, time.Now()) }
		if got := rate(); got != 0 {
			t.Errorf("of an unknown channel: %v", got)
		}
		m.of(7).count(operators.CountSent, 30)
		later(10 * time.Second)
		if got := rate(); got != 30 { // less than a minute counts as one
			t.Errorf("after ten seconds: %v", got)
		}
		later(110 * time.Second)
		if got := rate(); got != 15 {
			t.Errorf("after two minutes: %v", got)
		}
		later(3*time.Minute + 30*time.Second)
		if got, want := rate(), 30/5.5; got != want {
			t.Errorf("after five and a half: %v, want %v", got, want)
		}
		later(time.Minute)
		if got := rate(); got != 0 {
			t.Errorf("after six and a half: %v", got)
		}
	})
}

// A channel is idle since its last dispatch, to the minute, and at most as long as the
// minutes that are kept.
func TestMinutes_TellSinceWhenAChannelIsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, _ := keeper(t)
		idle := func() time.Duration { return time.Since(m.idleSince(7, time.Now())).Round(time.Second) }
		later(30 * time.Second)
		if got := idle(); got != 30*time.Second {
			t.Errorf("half a minute after the start: %v", got)
		}
		m.of(7).count(operators.CountSent, 1)
		if got := idle(); got != 0 {
			t.Errorf("in the minute of a dispatch: %v", got)
		}
		later(time.Minute)
		if got := idle(); got > time.Minute {
			t.Errorf("a minute after it: %v", got)
		}
		later(time.Minute)
		if got := idle(); got < time.Minute || got > 2*time.Minute {
			t.Errorf("two minutes after it: %v", got)
		}
		later(time.Hour)
		if got := idle(); got < 5*time.Minute || got > 6*time.Minute {
			t.Errorf("an hour after it: %v", got)
		}
	})
}

// TestMinutes_CountExactlyWhileMinutesEnd loses nothing and counts nothing twice.
func TestMinutes_CountExactlyWhileMinutesEnd(t *testing.T) {
	t.Parallel()
	store := new(ledger)
	m := newMinutes(time.Now(), store, slog.New(slog.DiscardHandler))
	stop := make(chan struct{})
	var counting, ending sync.WaitGroup
	ending.Go(func() {
		for over := false; !over; {
			select {
			case <-stop:
				over = true // once more
			default:
			}
			m.endMinute(time.Now())
			if _, err := m.write(t.Context()); err != nil {
				t.Error(err)
			}
			m.current()
			m.perMinute(1, time.Now())
		}
	})
	const each = 2000
	for range 4 {
		counting.Go(func() {
			for range each {
				m.of(1).count(operators.CountSent, 1)
				m.of(2).gauge(1, 1, 1)
			}
		})
	}
	counting.Wait()
	close(stop)
	ending.Wait()
	if n := store.total(operators.CountSent); n != 4*each {
		t.Errorf("%d were counted and %d written", 4*each, n)
	}
}
