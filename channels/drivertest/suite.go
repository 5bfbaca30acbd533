package drivertest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// Asking states how a provider can be asked about an attempt.
type Asking int

// The ways to ask.
const (
	Never       Asking = iota // CannotTell, whatever happened
	ByReference               // about what it gave a reference to
	ByContact                 // also after a lost answer: what it has, and that it has nothing
)

// Raw is an answer of a provider.
type Raw struct {
	Status int
	Body   string
}

// Provider describes a channel type with what the suite cannot find out by itself.
type Provider struct {
	Name     string // of the tests; a type may be here several times
	Type     channels.Type
	Host     string        // that Settings name
	Settings weir.Settings // with the final state that a receipt reaches
	Secrets  []string      // in Settings; they appear nowhere
	// Unauthorized changes Settings: the credentials are wrong.
	Unauthorized weir.Settings
	Start        func(Options) (Simulator, error)
	Line         string // where the simulator's tally counts

	// Send is the operation of fault rules for requests that dispatch, Report that of
	// callbacks about a status; empty: all of them.
	Send, Report string
	// Completed and Failed are outcomes of the simulator.
	Completed, Failed string

	Refusal       Raw    // of a contact
	RefusalReason string // as the driver reports it
	// Blank is the fate of a 2xx without a body, Unavailable that of a 503.
	Blank, Unavailable channels.SendStatus
	Asks               Asking
	Settles            time.Duration // before it is certain that a provider has nothing
	Nothing            string        // answer to a question that there is nothing
	Cancels            bool          // what it has not begun
	Signed             bool          // its callbacks
	Repeats            bool          // callbacks that were not taken
}

// Options configure a simulator for one test.
type Options struct {
	Client           *http.Client // for callbacks
	Outcomes, Faults []string
	Seed             uint64
	// Queue is how long an accepted contact waits before it is begun. A provider that
	// can be given a contact's first instant goes by that.
	Queue time.Duration
}

// voice reports whether the type makes calls.
func (p Provider) voice() bool { return p.Type.Content == channels.Voice }

// attempt returns an attempt of the provider's content.
func (p Provider) attempt(id weir.ContactID) channels.Attempt {
	if p.voice() {
		return NewAttempt(id)
	}
	return NewAttempt(id, "hello")
}

// run plays a test in a world with the provider.
func (p Provider) run(t *testing.T, o Options, test func(w *World), change ...weir.Settings) {
	t.Helper()
	In(t, Setup{Type: p.Type, Host: p.Host, Settings: p.with(change...), Start: func(client *http.Client) (Simulator, error) {
		quiet := o
		quiet.Client, quiet.Faults = client, nil
		return p.Start(quiet)
	}}, func(w *World) {
		ctx, cancel := context.WithTimeout(w.Context(), timeout)
		defer cancel()
		err := w.Driver.Prepare(ctx)
		if err != nil && !slices.ContainsFunc(change, func(s weir.Settings) bool { return s != nil }) {
			w.Fatal(err)
		}
		// After Prepare, whose requests would use up the faults: rules count from the first
		// dispatch.
		if err := w.sim.Faults().Set(o.Faults...); err != nil {
			w.Fatal(err)
		}
		w.requests = 0
		test(w)
	})
}

// with returns the settings with changes; nil removes one.
func (p Provider) with(change ...weir.Settings) weir.Settings {
	s := maps.Clone(p.Settings)
	for _, c := range change {
		maps.Copy(s, c)
	}
	maps.DeleteFunc(s, func(_ string, v any) bool { return v == nil })
	return s
}

// elsewhere changes the settings to a host that refuses connections.
func (p Provider) elsewhere() weir.Settings {
	out := weir.Settings{}
	for key, v := range p.Settings {
		if text, ok := v.(string); ok {
			out[key] = strings.ReplaceAll(text, "//"+p.Host, "//nowhere.test")
		}
	}
	return out
}

// Reports returns a fault of the callbacks about a status, such as "drop" or
// "delay=2m:#1".
func (p Provider) Reports(fault string) string {
	if p.Report == "" {
		return fault
	}
	what, when, _ := strings.Cut(fault, ":")
	return strings.TrimSuffix(what+"@"+p.Report+":"+when, ":")
}

// taken returns how many calls or messages the provider has accepted.
func (p Provider) taken(w *World) int { return w.sim.Tally().Line(p.Line).Taken }

// keepsSecrets checks a text or a value that people may read.
func (p Provider) keepsSecrets(t testing.TB, shown any) {
	t.Helper()
	text := fmt.Sprintf("%+v", shown)
	KeepSecrets(t, text, p.Secrets...)
	if decoded, err := url.QueryUnescape(text); err == nil {
		KeepSecrets(t, decoded, p.Secrets...)
	}
}
