package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir"
	channelbroker "weir/actors/channels"
	"weir/config"
	"weir/internal/outbound"
	"weir/internal/tracing"
	"weir/operators"
	"weir/persistence"
)

// readHoldEvery is how often the hold is read from the store: "weir resume" may have ended
// it there.
const readHoldEvery = 2 * time.Second

// hold keeps Weir from sending anything: no contact is dispatched, no provider is
// set up, no event is delivered and no function is called. The hold is a row of the
// store, so it survives restarts and applies to every process.
type hold struct {
	store *persistence.Store
	log   *slog.Logger

	mu           sync.Mutex
	since        time.Time     // zero: nothing is held
	released     chan struct{} // closed while nothing is held
	ended        time.Time     // when the hold ended; set before released is closed
	onEnd        func(context.Context) error
	onEndPending atomic.Bool // onEnd has not succeeded since the hold ended
}

// openHold reads the hold. It first begins one if the configuration requests it.
func openHold(ctx context.Context, c config.Config, store *persistence.Store, log *slog.Logger) (*hold, error) {
	h := &hold{store: store, log: log, released: make(chan struct{}), onEnd: func(context.Context) error { return nil }}
	if c.Paused {
		if err := store.Hold(ctx, time.Now()); err != nil {
			return nil, err
		}
	}
	since, err := store.HeldSince(ctx)
	if err != nil {
		return nil, err
	}
	if h.since = since; since.IsZero() {
		close(h.released)
	} else {
		log.Warn("hold active: nothing is sent until weir resume", "since", since)
	}
	return h, nil
}

// Since returns when the hold began; zero: nothing is held.
func (h *hold) Since() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since
}

// Release ends the hold for every process.
func (h *hold) Release(ctx context.Context) error {
	if err := h.store.Unhold(ctx); err != nil {
		return err
	}
	return h.refresh(ctx)
}

// refresh detects the end of a hold, not its beginning: a hold begins only when
// Weir starts.
func (h *hold) refresh(ctx context.Context) error {
	if !h.Since().IsZero() {
		since, err := h.store.HeldSince(ctx)
		if err != nil || !since.IsZero() {
			return err
		}
		h.end()
	}
	if !h.onEndPending.Swap(false) {
		return nil
	}
	err := h.onEnd(ctx)
	if err != nil {
		h.onEndPending.Store(true) // the next refresh tries again
	}
	return err
}

func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return // another refresh was first
	}
	h.since, h.ended = time.Time{}, time.Now()
	h.onEndPending.Store(true)
	close(h.released)
	h.log.Info("hold released")
}

// wait waits until nothing is held and returns when the hold ended; zero if this
// process saw no hold.
func (h *hold) wait(ctx context.Context) (ended time.Time, err error) {
	select {
	case <-h.released:
		return h.ended, nil
	case <-ctx.Done():
		return ended, ctx.Err()
	}
}

func (h *hold) job() job {
	return job{name: "refresh hold", every: readHoldEvery, step: func(ctx context.Context) (bool, error) { return false, h.refresh(ctx) }}
}

// heldStore reports every channel as paused during a hold.
type heldStore struct {
	*persistence.Store
	hold *hold
}

// Channel implements weir.ChannelStore.
func (s heldStore) Channel(ctx context.Context, name string) (weir.Channel, error) {
	ch, err := s.Store.Channel(ctx, name)
	return s.hold.asPaused(ch), err
}

// ChannelByID implements weir.ChannelStore.
func (s heldStore) ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error) {
	ch, err := s.Store.ChannelByID(ctx, id)
	return s.hold.asPaused(ch), err
}

func (h *hold) asPaused(ch weir.Channel) weir.Channel {
	if !h.Since().IsZero() {
		ch.Paused, ch.Held = true, true
	}
	return ch
}

// heldFigures reports every channel's state as paused during a hold. The channels
// that the API reads and writes back keep their own flag.
type heldFigures struct {
	*channelbroker.System
	hold *hold
}

// Figures is [channelbroker.System.Figures].
func (f heldFigures) Figures(ctx context.Context, ch weir.Channel) (operators.Figures, error) {
	return f.System.Figures(ctx, f.hold.asPaused(ch))
}

// FiguresOf is [channelbroker.System.FiguresOf].
func (f heldFigures) FiguresOf(ctx context.Context, list []weir.Channel) ([]operators.Figures, error) {
	list = slices.Clone(list)
	for i := range list {
		list[i] = f.hold.asPaused(list[i])
	}
	return f.System.FiguresOf(ctx, list)
}

// heldCalls delays every call until there is no hold.
type heldCalls struct {
	*outbound.Client
	hold *hold
}

// Post is [heldCalls.Do] with POST.
func (c heldCalls) Post(ctx context.Context, url string, header http.Header, body []byte) (int, []byte, error) {
	answer, err := c.Do(ctx, http.MethodPost, url, header, body)
	return answer.Status, answer.Body, err
}

// Do waits until nothing is held, then makes the call.
func (c heldCalls) Do(ctx context.Context, method, target string, header http.Header, body []byte) (outbound.Answer, error) {
	if _, err := c.hold.wait(ctx); err != nil {
		return outbound.Answer{}, err
	}
	return c.Client.Do(ctx, method, target, tracing.Inject(ctx, header), body)
}
