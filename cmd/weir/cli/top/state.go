// Package top draws the live view of a Weir for a terminal.
//
// # Invariants
//
//   - What is drawn is a function of the state and of the size of the terminal.
//   - A picture has exactly as many lines as the terminal, none wider than it.
//   - Names and reasons may come from anybody: they are shown escaped.
package top

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// State is what is drawn.
type State struct {
	Now      time.Time `json:"now"`
	URL      string    `json:"url"`
	Channels []Channel `json:"channels"`
	Surveys  []Survey  `json:"surveys"`
	Router   *Router   `json:"router,omitempty"` // nil: not known
	// Minutes tells whether rates are known.
	Minutes bool `json:"-"`
	// Problem is why nothing newer is shown; empty: it is fresh.
	Problem string    `json:"problem,omitzero"`
	Seen    time.Time `json:"seen,omitzero"` // when it was fresh
	Sort    Sort      `json:"-"`
	Reverse bool      `json:"-"`
	Offset  int       `json:"-"` // of the first channel that is shown
}

// Channel is one channel.
type Channel struct {
	Name              string    `json:"name"`
	Type              string    `json:"type"`
	State             string    `json:"state"`
	Reason            string    `json:"reason,omitzero"`
	InFlight          int       `json:"in_flight"`
	Capacity          int       `json:"capacity"`
	Sending           int       `json:"sending"`
	Active            int       `json:"active"`
	Unknown           int       `json:"unknown"`
	Queued            int64     `json:"queued"`
	Oldest            time.Time `json:"oldest,omitzero"` // zero: nothing waits
	AcceptedPerMinute int64     `json:"accepted_per_minute"`
	FinishedPerMinute int64     `json:"finished_per_minute"`
}

// Survey is one survey that is not over.
type Survey struct {
	Name        string    `json:"name"`
	State       string    `json:"state"`
	Respondents int64     `json:"respondents"`
	Over        int64     `json:"over"`       // who came to their end
	Target      int64     `json:"target"`     // how many are wanted; 0: everybody
	Counted     int64     `json:"counted"`    // towards it
	PerMinute   float64   `json:"per_minute"` // 0: not known
	EndsAt      time.Time `json:"ends_at,omitzero"`
	Open        bool      `json:"open"`
}

// Router is the job router.
type Router struct {
	Jobs    map[string]int64 `json:"jobs"`    // by state
	Workers map[string]int64 `json:"workers"` // by state
	Offers  int64            `json:"offers"`
	Oldest  time.Duration    `json:"oldest"` // longest wait in a queue
}

// Sort is by what channels are sorted.
type Sort int

// The orders.
const (
	ByName Sort = iota
	ByInFlight
	ByQueued
	ByOldest
	ByRate
	ByState
)

// Orders are the keys that choose an order, in the order in which they are
// shown.
func Orders() []struct {
	Key  rune
	Sort Sort
	Name string
} {
	return []struct {
		Key  rune
		Sort Sort
		Name string
	}{{'n', ByName, "name"}, {'f', ByInFlight, "in flight"}, {'w', ByQueued, "waiting"}, {'o', ByOldest, "oldest"}, {'d', ByRate, "done/min"}, {'s', ByState, "state"}}
}

// Press is the state after a key. quit is true if that was to end the view.
func (s State) Press(key rune, page int) (next State, quit bool) {
	switch key {
	case 'q', 'Q', 3, 4: // also Ctrl-C and Ctrl-D, which a raw terminal hands over
		return s, true
	case 'r':
		s.Reverse = !s.Reverse
	case 'j', 'B':
		s.Offset++
	case 'k', 'A':
		s.Offset--
	case ' ':
		s.Offset += page
	case 'b':
		s.Offset -= page
	case 'g':
		s.Offset = 0
	}
	for _, o := range Orders() {
		if key == o.Key {
			s.Sort, s.Reverse, s.Offset = o.Sort, s.Sort == o.Sort && !s.Reverse, 0
		}
	}
	s.Offset = max(0, min(s.Offset, len(s.Channels)-1))
	return s, false
}

// sorted are the channels in their order: what needs most attention comes first,
// unless names are asked for.
func (s *State) sorted() []Channel {
	out := slices.Clone(s.Channels)
	slices.SortStableFunc(out, func(a, b Channel) int {
		n := 0
		switch s.Sort {
		case ByName:
		case ByInFlight:
			n = cmp.Compare(share(b), share(a))
		case ByQueued:
			n = cmp.Compare(b.Queued, a.Queued)
		case ByOldest:
			n = cmp.Compare(s.waits(b), s.waits(a))
		case ByRate:
			n = cmp.Compare(b.FinishedPerMinute, a.FinishedPerMinute)
		case ByState:
			n = cmp.Compare(urgency(a.State), urgency(b.State))
		}
		n = cmp.Or(n, strings.Compare(a.Name, b.Name))
		if s.Reverse {
			n = -n
		}
		return n
	})
	return out
}

// waits is for how long the oldest contact of a channel has waited.
func (s *State) waits(c Channel) time.Duration {
	if c.Oldest.IsZero() {
		return -1
	}
	return s.Now.Sub(c.Oldest)
}

func share(c Channel) float64 { return float64(c.InFlight) / float64(max(1, c.Capacity)) }

// urgency orders the states.
func urgency(state string) int {
	if i := slices.Index([]string{"faulted", "down", "error", "deleting", "paused", "up"}, state); i >= 0 {
		return i
	}
	return -1 // what nobody knows is looked at first
}
