package demo

import (
	"slices"
	"strings"
	"sync"
	"time"

	"weir/channels/simulation"
)

// refusals records who has refused to be contacted, and since when Weir knows: since it has
// accepted the person's message. It judges by the providers' own records that the person was
// not contacted after that. It is safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	since map[string]time.Time // by digits of the number
	order []string             // who refused first is first
	total int
}

const (
	// maxRefusals bounds how many people are remembered; those who refused latest stay.
	maxRefusals = 100_000
	// underway is for how long after a refusal a contact may still reach the provider, because
	// its claim was committed before.
	underway = 2 * time.Second
)

func newRefusals() *refusals { return &refusals{since: map[string]time.Time{}} }

// heard records that Weir has accepted a message of a person.
func (r *refusals) heard(from, body string, at time.Time) {
	if strings.TrimSpace(body) != stopWord {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	number := digits(from)
	if _, known := r.since[number]; known {
		return
	}
	if len(r.order) >= maxRefusals {
		delete(r.since, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
	r.since[number] = at
	r.order = append(r.order, number)
	r.total++
}

// refused reports whether a person has refused.
func (r *refusals) refused(number string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.since[digits(number)]
	return is
}

// latest returns who has refused latest; empty: nobody has.
func (r *refusals) latest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) == 0 {
		return ""
	}
	return r.order[len(r.order)-1]
}

// people returns who has refused, the first one first, and how many have in all.
func (r *refusals) people() (numbers []string, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order), r.total
}

// breaches returns the calls and messages that reached people after they had refused.
func (r *refusals) breaches(keys []simulation.KeyReport) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range keys {
		if since, is := r.since[digits(k.Address)]; is && k.At.After(since.Add(underway)) {
			out = append(out, k.Key)
		}
	}
	return out
}
