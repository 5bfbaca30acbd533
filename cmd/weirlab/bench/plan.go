package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/load"
)

// step is one run.
type step struct {
	load.Workload
	Peer  string
	Store string // "sqlite", "mysql" or a URL; empty for the baseline
}

// name returns the peer's name in a step's figures.
func (st step) name() string {
	if st.Store == "" {
		return st.Peer
	}
	return st.Peer + " " + kindOf(st.Store)
}

// kindOf returns "sqlite" or "mysql", also for a URL.
func kindOf(store string) string {
	kind, _, _ := strings.Cut(store, "://")
	return kind
}

// overHTTP reports whether the broker is a separate process.
func (st step) overHTTP() bool {
	return strings.HasPrefix(st.Peer, "http") || st.Peer == peerBefore
}

// kept reports whether the repetitions of a step use the same database, because it took
// long to fill.
func (st step) kept() bool {
	return st.Mode == load.Backlog
}

// place returns the name of a database that is kept.
func (st step) place() string {
	return fmt.Sprintf("%s %d", st.Store, st.Queued)
}

// plan lists the runs: every candidate once, then again, so that changes of the
// machine over time affect all candidates.
func plan(o Options) []step {
	var steps []step
	for repetition := range o.Repeat {
		if o.Set != "" {
			steps = append(steps, setSteps(o, repetition)...)
			continue
		}
		for _, mode := range o.Modes {
			for _, peer := range o.peersOf(mode) {
				steps = append(steps, o.steps(mode, peer)...)
			}
		}
	}
	return steps
}

// peersOf returns the peers of a mode. Modes that stop and start the program, or
// measure only its process, run it as users do.
func (o Options) peersOf(mode string) []string {
	if slices.Contains([]string{load.Restart, load.Crash, load.Survey, load.Idle, load.Router}, mode) {
		return []string{PeerSingle}
	}
	switch mode {
	case load.Interviews, load.Answers: // nothing but their provider loads them
		return []string{PeerInside}
	case load.Bulk:
		return []string{PeerBulk}
	case load.Matching:
		return []string{peerEngine}
	}
	list := slices.Clone(o.Peers)
	return slices.DeleteFunc(list, func(peer string) bool {
		inside := peer == PeerInside || peer == PeerInBatch
		return inside && o.URL != "" || peer == PeerBaseline && (o.Calls || mode == load.Loaded) || peer == PeerBaseline && (mode == load.Standing || mode == load.Backlog)
	})
}

// steps returns the runs of a mode and peer, on each store.
func (o Options) steps(mode, peer string) []step {
	if mode == load.Matching {
		return o.matchingSteps()
	}
	if peer == PeerBaseline {
		return []step{{o.workload(mode, peer), peer, ""}}
	}
	steps := make([]step, 0, len(o.Databases))
	for _, store := range o.Databases {
		steps = append(steps, o.withContactEvents(step{o.workload(mode, peer), peer, store})...)
	}
	return steps
}

// matchingSteps returns the runs of matching: each number of workers, beside each number
// of jobs that no worker can take.
func (o Options) matchingSteps() []step {
	var steps []step
	for _, workers := range o.Workers {
		for _, blocked := range o.Blocked {
			w := load.Workload{Mode: load.Matching, N: min(o.N, 20_000), Channels: 1, Batch: 1, Delay: load.StandardDelay, Workers: workers, Blocked: blocked}
			steps = append(steps, step{w, peerEngine, ""})
		}
	}
	return steps
}

func (o Options) workload(mode, peer string) load.Workload {
	w := load.Workload{
		Mode: mode, N: o.N, Channels: o.Channels, Capacity: o.capacity(), Batch: 1, Rate: o.Rate,
		Delay: o.Delay, Answer: o.Answer, Calls: o.Calls, Streams: o.Streams, Rules: o.Rules && peer != PeerBaseline, Baseline: peer == PeerBaseline,
	}
	switch peer {
	case PeerBatches, PeerInBatch:
		w.Batch = 100
	case PeerBulk:
		w.Batch = 1000
	}
	switch mode {
	case load.Latency:
		w.N, w.Batch = max(1, int(o.Latency.Seconds()*float64(o.Rate))), 1
	case load.Loaded:
		w.N, w.Batch, w.Rate, w.Share, w.Lasting = max(1, int(o.Latency.Seconds()*float64(o.Rate))), 1, 0, loadedShare, o.Latency
	case load.Turnaround:
		w.N, w.Channels, w.Capacity, w.Batch = min(o.N, 300), 1, 1, 1
	case load.Backlog:
		w.N, w.Queued = min(o.N, 20_000), o.Queued
	case load.Restart, load.Bulk:
		w.N, w.Batch = o.Queued, 1000
	case load.Survey:
		w.N, w.Channels = min(o.N, 20_000), 1
		o.Channels, o.N = 1, w.N
		w.Capacity = o.capacity()
	case load.Interviews, load.Answers:
		w.Channels, o.Channels = 1, 1
		w.N = max(1, min(o.N, 20_000)/load.Questions) * load.Questions
		if mode == load.Answers {
			w.N = max(1, int(o.Latency.Seconds()*float64(o.Rate))/load.Questions) * load.Questions
			w.Delay = max(w.Delay, time.Second) // for as many people as there are answers in it
		}
		o.N, o.Delay = w.N, w.Delay
		w.Capacity = o.capacity()
	case load.Router:
		w.N, w.Channels = min(o.N, 300), 1
	case load.Idle:
		w.N, w.Lasting = o.Channels, o.Idle // each channel has had a contact
	}
	return w
}

// loadedShare is at which share of the rate of live the latency is measured, so that nothing
// waits: live itself has a queue or none by chance.
const loadedShare = 0.7

// capacity returns the capacity of each channel: by default so many slots that they do
// not limit the rate, which is below fastest.
func (o Options) capacity() int {
	const least, fastest = 50, 10_000 // slots; contacts per second
	if o.Capacity > 0 {
		return o.Capacity
	}
	slots := (o.Delay + o.Answer).Seconds() * fastest
	return max(least, min(int(slots), o.N)/o.Channels)
}

// realSteps returns runs of contacts as they are: they last longer, their provider takes
// its time, they are calls, on one channel or on many. full adds the longest ones.
func (o Options) realSteps(full bool) []step {
	o.N = min(o.N, 20_000)
	var steps []step
	vary := func(change func(*Options)) {
		v := o
		change(&v)
		steps = append(steps, v.steps(load.Live, PeerInside)...)
	}
	vary(func(v *Options) { v.Delay = 2 * time.Second })
	vary(func(v *Options) { v.Answer = 200 * time.Millisecond })
	vary(func(v *Options) { v.Calls = true })
	vary(func(v *Options) { v.Channels = 1 })
	vary(func(v *Options) { v.Channels, v.Capacity = 100, 100 })
	vary(func(v *Options) { v.Channels = 1000 })
	vary(func(v *Options) { v.Answer, v.Channels, v.Capacity = 400*time.Millisecond, 1, 1000 })
	if full {
		vary(func(v *Options) { v.Delay = 30 * time.Second })
		vary(func(v *Options) { v.Answer = 400 * time.Millisecond })
	}
	return steps
}

// setSteps returns the runs of one repetition of a set.
func setSteps(o Options, repetition int) []step {
	if o.Set == Several {
		return severalSteps(o, repetition == 0)
	}
	var steps []step
	add := func(mode string, list ...string) {
		for _, peer := range list {
			steps = append(steps, o.steps(mode, peer)...)
		}
	}
	add(load.Live, PeerBaseline, PeerInside, PeerBatches, PeerSingle)
	add(load.Drain, PeerBaseline, PeerInside)
	add(load.Turnaround, PeerInside)
	add(load.Latency, PeerSingle)
	add(load.Loaded, PeerInside, PeerSingle)
	add(load.Standing, PeerInside)
	if o.N > 20_000 { // a run beside a backlog is compared with one of as many contacts
		small := o
		small.N = 20_000
		steps = append(steps, small.steps(load.Live, PeerInside)...)
	}
	add(load.Backlog, PeerInside)
	steps = append(steps, severalSteps(o, repetition == 0 || o.Set == Full)...)
	if repetition > 0 && o.Set == Short { // these take long and vary little
		return steps
	}
	add(load.Restart, PeerSingle)
	many := o
	many.Channels = 1000
	steps = append(steps, many.steps(load.Idle, PeerSingle)...)
	if o.Set == Full {
		add(load.Idle, PeerSingle)
	}
	add(load.Crash, PeerSingle)
	add(load.Survey, PeerSingle)
	observed := o
	observed.Streams = 10
	steps = append(steps, observed.steps(load.Survey, PeerSingle)...)
	center := o
	if o.Set == Short {
		center.Blocked = []int{0, 10_000}
	}
	steps = append(steps, center.matchingSteps()...)
	return append(steps, o.realSteps(o.Set == Full)...)
}

// withContactEvents repeats a step with each of the settings that are compared.
func (o Options) withContactEvents(st step) []step {
	if len(o.ContactEvents) == 0 || st.Store == "" {
		return []step{st}
	}
	var steps []step
	for _, setting := range o.ContactEvents {
		one := st
		one.ContactEvents = setting
		steps = append(steps, one)
	}
	return steps
}
