package bench

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/load"
)

// Options are the settings of a measurement.
type Options struct {
	Program  string // this program, which runs the load and the provider as separate processes
	Weir     string // the program weir
	Modes    []string
	Peers    []string
	Baseline bool // the baseline is among the peers
	N        int
	Channels int
	Capacity int // of each channel; 0: so many that they do not limit the rate
	Repeat   int
	Queued   int           // contacts in the queue before backlog and restart begin
	Delay    time.Duration // from the provider's answer to its report
	Answer   time.Duration // until the provider answers
	Workers  []int         // of matching
	Blocked  []int         // of matching: waiting jobs that no worker can take
	Streams  int           // clients that read the events during a run
	Rules    bool          // a rule of each kind holds for the people who are contacted
	// ContactEvents are compared: settings of WEIR_CONTACT_EVENTS, or a webhook; none: the default.
	ContactEvents []string
	Calls         bool // phone calls through Verboice instead of messages through Nuntium
	Rate          int
	Latency       time.Duration // how long latency takes
	Idle          time.Duration // how long idle observes
	Databases     []string      // "sqlite", "mysql" or URLs; every run has a new database
	URL           string        // of a running Weir, or of several of its processes, with commas; empty: one is started
	Token         string
	Provider      string // where the provider listens; empty: a free loopback port
	Set           string // Short, Full or Several: the runs that the targets need; empty: Modes × Peers
	Against       string // the program weir of an earlier version, to compare with
	Out, Err      io.Writer
	JSON          bool
	Profile       string // file for a CPU profile of the runs with the load in the broker's process
}

// Defaults returns the options of the standard workload.
func Defaults() Options {
	return Options{
		Modes: []string{load.Live}, Peers: []string{PeerBaseline, PeerInside}, N: 50_000, Channels: 10, Repeat: 3,
		Queued: 1_000_000, Workers: []int{100, 1_000, 10_000}, Blocked: []int{0, 10_000, 1_000_000}, Delay: load.StandardDelay, Rate: 200, Latency: 15 * time.Second, Idle: 30 * time.Second,
		Databases: []string{"sqlite"},
	}
}

// completed fills in the options that a set determines.
func (o Options) completed() Options {
	if o.Baseline && !slices.Contains(o.Peers, PeerBaseline) {
		o.Peers = append([]string{PeerBaseline}, o.Peers...)
	}
	if o.Set != "" {
		o.Databases = []string{"sqlite", "mysql"}
	}
	if o.Set == Several {
		o.Databases = []string{"mysql"}
	}
	if o.URL != "" {
		o.Databases = []string{"running"}
	}
	if path, err := filepath.Abs(o.Against); o.Against != "" && err == nil {
		o.Against = path // a bare name is looked up in PATH, and brokers run in folders of their own
	}
	if len(o.Databases) == 0 {
		o.Databases = []string{"sqlite"}
	}
	return o
}

// check rejects options that cannot be measured, before anything is started.
func (o Options) check() error {
	for _, m := range o.Modes {
		if !slices.Contains(load.Modes(), m) {
			return fmt.Errorf("there is no mode %q; there are %v", m, load.Modes())
		}
		measurable := []string{load.Live, load.Standing, load.Drain, load.Latency, load.Loaded, load.Turnaround, load.Router}
		if len(o.urls()) > 1 {
			measurable = append(measurable, load.Idle) // by the metrics of its processes
		}
		if o.URL != "" && !slices.Contains(measurable, m) {
			return fmt.Errorf("mode %s needs a broker that it may start and stop, not a running one", m)
		}
	}
	for _, p := range o.Peers {
		if !slices.Contains(peers(), p) {
			return fmt.Errorf("there is no peer %q; there are %v", p, peers())
		}
	}
	if o.Set != "" && o.Set != Short && o.Set != Full && o.Set != Several {
		return fmt.Errorf("there is no set %q; there are %s, %s and %s", o.Set, Short, Full, Several)
	}
	if o.URL != "" && (o.Set != "" || o.Against != "") {
		return errors.New("a running Weir cannot be measured by a set, or against another program")
	}
	if err := o.checkContactEvents(); err != nil {
		return err
	}
	if o.N < 1 || o.Channels < 1 || o.Capacity < 0 || o.Delay < 0 || o.Answer < 0 || o.Streams < 0 || o.Repeat < 1 || o.Rate < 1 || o.Queued < 1 {
		return errors.New("the numbers of contacts, channels, repetitions and contacts per second are at least 1, and no number or duration is negative")
	}
	if len(o.Workers) == 0 || len(o.Blocked) == 0 || slices.Min(o.Workers) < 100 || slices.Min(o.Blocked) < 0 {
		return errors.New("matching needs numbers of workers, of 100 or more, and of jobs that wait")
	}
	return nil
}

// The peers: the programs and interfaces that are measured.
const (
	PeerBaseline = "floor"
	PeerInside   = "inside"       // contacts are enqueued by a function call
	PeerInBatch  = "inside-batch" // a hundred in a call
	PeerSingle   = "http"         // over HTTP, one contact in a request
	PeerBatches  = "http-batch"   // over HTTP, a hundred
	PeerBulk     = "http-1000"    // over HTTP, a thousand
	peerBefore   = "before"       // over HTTP, the earlier program
	peerEngine   = "engine"       // the router's, without a store
)

func peers() []string {
	return []string{PeerBaseline, PeerInside, PeerInBatch, PeerSingle, PeerBatches, PeerBulk}
}

// The sets of runs that the table of targets needs.
const (
	Short = "short" // small runs, for a few minutes
	Full  = "full"  // runs of the workload's full size
	// Several are the runs of one and of several processes, which the other sets contain.
	Several = "processes"
)

// urls returns the addresses of a running Weir.
func (o Options) urls() []string {
	if o.URL == "" {
		return nil
	}
	list := strings.Split(o.URL, ",")
	for i := range list {
		list[i] = strings.TrimSuffix(strings.TrimSpace(list[i]), "/")
	}
	return list
}

// What is compared: the values of WEIR_CONTACT_EVENTS, and a webhook.
const (
	eventsOff  = "off"
	eventsAuto = "auto"
	eventsOn   = "on"
	// eventsWebhook is auto with a webhook that gets the end of each contact.
	eventsWebhook = "webhook"
)

// checkContactEvents rejects settings that there are not.
func (o Options) checkContactEvents() error {
	for _, setting := range o.ContactEvents {
		if !slices.Contains([]string{eventsOff, eventsAuto, eventsOn, eventsWebhook}, setting) {
			return fmt.Errorf("contact events are %s, %s, %s or %s, not %q", eventsOff, eventsAuto, eventsOn, eventsWebhook, setting)
		}
	}
	if len(o.ContactEvents) > 0 && (o.URL != "" || o.Set != "") {
		return errors.New("contact events are compared neither in a running Weir nor in a set")
	}
	return nil
}
