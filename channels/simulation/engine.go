package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Engine holds the parts of a simulated provider that do not depend on its protocol: the
// actions that it plans, the callbacks that it sends, its outcomes and faults, its own count
// and the interface that shows it. Its lock guards the state of the provider.
type Engine struct {
	sync.Mutex
	Outcomes *Script
	Mux      *http.ServeMux // with the control interface

	life   int // counts the resets; actions and callbacks planned before a reset are void
	agenda *Agenda
	sender *Sender
	faults *Faults
	tally  *Tally
}

// Options configures an Engine.
type Options struct {
	Seed             uint64
	Outcomes, Faults []string         // rules
	Outcome          func(Rule) error // checks a rule of Outcomes
	Callbacks        int              // max concurrent callbacks; 0: the sender's default
	Client           *http.Client     // for callbacks; nil: its own

	Name    string     // of the provider's records in the control interface; empty: it has none
	Records func() any // shown under Name
	Reset   func()     // drops what the provider has, with the lock held
}

// NewEngine returns an engine, or all mistakes in the rules.
func NewEngine(o Options) (*Engine, error) {
	outcomes, err := ParseRules(o.Outcomes...)
	for _, r := range outcomes {
		err = errors.Join(err, o.Outcome(r))
	}
	faults, faultErr := NewFaults(o.Seed, o.Faults...)
	if err := errors.Join(err, faultErr); err != nil {
		return nil, err
	}
	e := &Engine{
		Outcomes: NewScript(o.Seed, outcomes...), Mux: http.NewServeMux(), agenda: NewAgenda(), faults: faults, tally: NewTally(),
		sender: NewSender(o.Client, o.Callbacks, faults),
	}
	e.Mux.Handle(ControlPath, control(e.tally, faults, func() {
		e.Lock()
		defer e.Unlock()
		e.life++
		e.agenda.Clear()
		o.Reset()
		e.tally.Reset()
	}))
	if o.Name != "" {
		e.Mux.HandleFunc("GET "+ControlPath+o.Name, func(w http.ResponseWriter, _ *http.Request) {
			WriteJSON(w, http.StatusOK, o.Records())
		})
	}
	return e, nil
}

// OneOf returns a check of outcomes that have a name and a condition only.
func OneOf(names ...string) func(Rule) error {
	return func(r Rule) error {
		if !slices.Contains(names, r.What) || r.Value != "" || r.Operation != "" {
			return fmt.Errorf("outcome %q: want one of %s, with :when if need be", r, strings.Join(names, ", "))
		}
		return nil
	}
}

// maxBody bounds the body of a request to the provider, in bytes.
const maxBody = 1 << 20

// ServeHTTP implements http.Handler.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	e.Mux.ServeHTTP(w, r)
}

// Run advances what is planned and sends callbacks until the context ends.
func (e *Engine) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { e.agenda.Run(ctx) })
	all.Go(func() { e.sender.Run(ctx) })
	all.Wait()
}

// Tally returns the simulator's own count.
func (e *Engine) Tally() *Tally { return e.tally }

// Faults returns the script of faults, which may be changed at any time.
func (e *Engine) Faults() *Faults { return e.faults }

// Forget forgets how often outcomes and faults have met each subject, which otherwise takes
// memory for every call and message that there ever was.
func (e *Engine) Forget() {
	e.Outcomes.Forget()
	e.faults.requests.Forget()
	e.faults.callbacks.Forget()
}

// Later calls do with the lock after a delay, unless everything was reset by then. The caller
// holds the lock.
func (e *Engine) Later(delay time.Duration, do func()) {
	guard := e.guard()
	e.agenda.After(delay, func() { guard(do) })
}

// Call sends a callback. Its Done runs with the lock, unless everything was reset by then. The
// caller holds the lock.
func (e *Engine) Call(c Callback) {
	if done, guard := c.Done, e.guard(); done != nil {
		c.Done = func(status int, err error) { guard(func() { done(status, err) }) }
	}
	e.sender.Send(c)
}

// guard returns a function that calls do with the lock, unless everything was reset by then.
func (e *Engine) guard() func(do func()) {
	life := e.life
	return func(do func()) {
		e.Lock()
		defer e.Unlock()
		if e.life == life {
			do()
		}
	}
}

// Repeated is a callback with all its repetitions.
type Repeated struct {
	Callback
	Count *CallCount
	Taken func(status int) bool // reports whether the provider is content
	Heard func(body []byte)     // receives the body of the answer that it is content with; may be nil
	// Again decides after a number of failures, the last one with a status or an error,
	// whether the callback is repeated, and after which pause.
	Again func(failures, status int, err error) (pause time.Duration, again bool)
}

// Repeat sends a callback until it is taken or given up. The caller holds the lock.
func (e *Engine) Repeat(c Repeated) { e.repeat(c, 0) }

func (e *Engine) repeat(c Repeated, failures int) {
	var body []byte
	c.Answer = func(_ http.Header, b []byte) { body = b }
	c.Done = func(status int, err error) {
		if !c.Count.Add(c.Taken(status), err) {
			if err == nil && c.Heard != nil {
				c.Heard(body)
			}
			return
		}
		pause, again := c.Again(failures+1, status, err)
		if !again {
			c.Count.Lost++
			return
		}
		e.Later(pause, func() { e.repeat(c, failures+1) })
	}
	e.Call(c.Callback)
}

// CallCount counts callbacks.
type CallCount struct {
	Sent    int `json:"sent"`    // includes repetitions
	Taken   int `json:"taken"`   // answered as the provider wants it
	Lost    int `json:"lost"`    // answered otherwise or not at all, and given up
	Dropped int `json:"dropped"` // by a fault
}

// Add counts the result of a callback, and reports whether it failed, so that it has to
// be repeated or counted as lost.
func (c *CallCount) Add(taken bool, err error) (failed bool) {
	if errors.Is(err, ErrDropped) {
		c.Dropped++
		return false
	}
	c.Sent++
	if err == nil && taken {
		c.Taken++
		return false
	}
	return true
}

// TextKey identifies a message by number and text, for the tally of a provider without an
// identity of messages: the same text to the same number counts as doubled.
func TextKey(to, text string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return fmt.Sprintf("%s %x", to, h.Sum64())
}

// Posted handles a document that is posted to the control interface: 202, or 400 with the
// error.
func Posted[T any](do func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var document T
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&document)
		if err == nil {
			err = do(document)
		}
		if err != nil {
			WriteJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}
