// Package top draws the live view of a Weir for a terminal.
//
// # Invariants
//
//   - The picture depends on the state and on the size of the terminal only.
//   - A picture has exactly as many lines as the terminal, and none is wider than
//     the terminal, or 20 cells if the terminal is narrower.
//   - Names and reasons are untrusted text: they are shown escaped.
package top

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// State is the state to draw.
type State struct {
	Now      time.Time `json:"now"`
	URL      string    `json:"url"`
	Channels []Channel `json:"channels"`
	Surveys  []Survey  `json:"surveys"`
	Router   *Router   `json:"router,omitempty"` // nil: unknown
	// Minutes reports whether the rates are known.
	Minutes bool `json:"-"`
	// Problem is why the state is stale; empty: it is fresh.
	Problem string    `json:"problem,omitzero"`
	Seen    time.Time `json:"seen,omitzero"` // when the state was last fresh
	Sort    int       `json:"-"`             // index of the order of the channels
	Reverse bool      `json:"-"`
	Offset  int       `json:"-"` // index of the first channel shown
}

// Channel is the state of one channel.
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

// Survey is the state of one survey that is launched and not done.
type Survey struct {
	Name        string    `json:"name"`
	State       string    `json:"state"`
	Respondents int64     `json:"respondents"`
	Over        int64     `json:"over"`       // respondents that are done
	Target      int64     `json:"target"`     // wanted number; 0: all respondents
	Counted     int64     `json:"counted"`    // toward the target
	PerMinute   float64   `json:"per_minute"` // 0: unknown
	EndsAt      time.Time `json:"ends_at,omitzero"`
	Open        bool      `json:"open"`
}

// Router holds the numbers of the job router.
type Router struct {
	Jobs    map[string]int64 `json:"jobs"`    // by state
	Workers map[string]int64 `json:"workers"` // by state
	Offers  int64            `json:"offers"`
	Oldest  time.Duration    `json:"oldest"` // longest wait in a queue
}

// order is a sort order of the channels.
type order struct {
	key  rune
	word string // value of --sort
	name string
	// compare is negative if a comes first; channels that are equal are sorted by name.
	compare func(s *State, a, b Channel) int
}

// orders returns the sort orders as they are shown; the first one is the default.
// In every order except by name, the channels that need most attention come first.
func orders() []order {
	return []order{
		{'n', "name", "name", func(_ *State, a, b Channel) int { return strings.Compare(a.Name, b.Name) }},
		{'f', "in-flight", "in flight", func(_ *State, a, b Channel) int { return cmp.Compare(share(b), share(a)) }},
		{'w', "waiting", "waiting", func(_ *State, a, b Channel) int { return cmp.Compare(b.Queued, a.Queued) }},
		{'o', "oldest", "oldest", func(s *State, a, b Channel) int { return cmp.Compare(s.waits(b), s.waits(a)) }},
		{'d', "done", "done/min", func(_ *State, a, b Channel) int { return cmp.Compare(b.FinishedPerMinute, a.FinishedPerMinute) }},
		{'s', "state", "state", func(_ *State, a, b Channel) int { return cmp.Compare(urgency(a.State), urgency(b.State)) }},
	}
}

// Press returns the state after a key. quit is true if the key ends the view.
func (s State) Press(key rune, page int) (next State, quit bool) {
	switch key {
	case 'q', 'Q', 3, 4: // 3 and 4 are Ctrl-C and Ctrl-D in raw mode
		return s, true
	case 'r':
		s.Reverse = !s.Reverse
	case 'j':
		s.Offset++
	case 'k':
		s.Offset--
	case ' ':
		s.Offset += page
	case 'b':
		s.Offset -= page
	case 'g':
		s.Offset = 0
	}
	for i, o := range orders() {
		if key == o.key {
			s.Sort, s.Reverse, s.Offset = i, s.Sort == i && !s.Reverse, 0
		}
	}
	s.Offset = max(0, min(s.Offset, len(s.Channels)-1))
	return s, false
}

// sorted returns the channels in the chosen order, or in the opposite one if Reverse is set.
func (s *State) sorted() []Channel {
	out, compare := slices.Clone(s.Channels), orders()[s.Sort].compare
	slices.SortStableFunc(out, func(a, b Channel) int {
		n := cmp.Or(compare(s, a, b), strings.Compare(a.Name, b.Name))
		if s.Reverse {
			n = -n
		}
		return n
	})
	return out
}

// waits returns how long the oldest contact of a channel has waited; -1: nothing waits.
func (s *State) waits(c Channel) time.Duration {
	if c.Oldest.IsZero() {
		return -1
	}
	return s.Now.Sub(c.Oldest)
}

func share(c Channel) float64 { return float64(c.InFlight) / float64(max(1, c.Capacity)) }

// urgency ranks the states for sorting; the most urgent is lowest.
func urgency(state string) int {
	if i := slices.Index([]string{"faulted", "down", "error", "deleting", "paused", "up"}, state); i >= 0 {
		return i
	}
	return -1 // unknown states come first
}
