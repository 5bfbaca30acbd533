package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
)

// Engine holds the parts of a simulated provider that do not depend on its protocol: the
// actions that it plans, the callbacks that it sends, the faults that it makes, and its
// own count.
type Engine struct {
	Agenda *Agenda
	Sender *Sender
	faults *Faults
	tally  *Tally
}

// NewEngine returns an engine, or an error if a rule is invalid. Its faults are those of
// the rules, also in the sender's options.
func NewEngine(seed uint64, rules []string, o SenderOptions) (*Engine, error) {
	faults, err := NewFaults(seed, rules...)
	if err != nil {
		return nil, err
	}
	o.Faults = faults
	return &Engine{Agenda: NewAgenda(), Sender: NewSender(o), faults: faults, tally: NewTally()}, nil
}

// Run advances what is planned and sends callbacks until the context ends.
func (e *Engine) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { e.Agenda.Run(ctx) })
	all.Go(func() { e.Sender.Run(ctx) })
	all.Wait()
}

// Tally returns the simulator's own count.
func (e *Engine) Tally() *Tally { return e.tally }

// Faults returns the script of faults.
func (e *Engine) Faults() *Faults { return e.faults }

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
