package demo

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Options are how the demo is run. Get them from [Defaults] and change what is
// to be different.
type Options struct {
	File     string  // of contacts; empty: the one that comes with the program
	Contacts int     // so many from the beginning of the file; 0: all
	Capacity int     // of each channel; 0: 50 calls and 40 messages
	Kills    int     // how often the broker is killed on the way
	Seed     uint64  // of what happens by chance at the providers
	Speed    float64 // how many times faster than usual the providers are

	Program string    // the executable that knows the command serve
	Out     io.Writer // where the demo is shown
	// Terminal says that Out can be drawn on in place; Width then gives its
	// columns, which may change.
	Terminal bool
	Width    func() int
	Color    bool
}

// Defaults are the options of a demo that takes less than a minute.
func Defaults() Options { return Options{Kills: 1, Seed: 1, Speed: 1} }

// Bounds of the options.
const (
	mostKills    = 100
	mostCapacity = 10_000
	mostSpeed    = 100
	leastSpeed   = 0.01
)

// Check finds every mistake in the options that can be seen without the file.
func (o Options) Check() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.Contacts < 0, "--contacts is %d; want 1 or more, or 0 for all", o.Contacts)
	wrong(o.Capacity < 0 || o.Capacity > mostCapacity, "--capacity is %d; want 1 to %d, or 0 for the usual", o.Capacity, mostCapacity)
	wrong(o.Kills < 0 || o.Kills > mostKills, "--kills is %d; want 0 to %d", o.Kills, mostKills)
	wrong(!(o.Speed >= leastSpeed && o.Speed <= mostSpeed), "--speed is %g; want %g to %d", o.Speed, leastSpeed, mostSpeed)
	return errors.Join(errs...)
}

// channel is what the demo knows of a channel before it begins.
type channel struct {
	name     string
	provider string
	unit     string
	capacity int
	contacts []Contact
}

// channels reads the contacts and deals them to their channels.
func (o Options) channels() ([]*channel, error) {
	contacts, err := load(o.File)
	if err != nil {
		return nil, err
	}
	if o.Contacts > len(contacts) {
		return nil, fmt.Errorf("--contacts is %d, and the file has %d", o.Contacts, len(contacts))
	}
	if o.Contacts > 0 {
		contacts = contacts[:o.Contacts]
	}
	all := []*channel{
		{name: calls, provider: "Verboice", unit: "calls", capacity: 50},
		{name: sms, provider: "Nuntium", unit: "messages", capacity: 40},
	}
	for _, c := range all {
		if o.Capacity > 0 {
			c.capacity = o.Capacity
		}
		for i := range contacts {
			if contacts[i].Channel != c.name {
				continue
			}
			c.contacts = append(c.contacts, contacts[i])
			if n := contacts[i].units(); n > c.capacity {
				return nil, fmt.Errorf("--capacity is %d, and the contact %q has %d messages, which go together", c.capacity, contacts[i].Key, n)
			}
		}
	}
	return all, nil
}

// pace is what takes how long in one run.
type pace struct{ speed float64 }

// of is a span of the usual speed.
func (p pace) of(usual time.Duration) time.Duration {
	return time.Duration(float64(usual) / p.speed)
}

// atLeast is the same for the broker's limits, which a slow machine must not
// make run out while a provider is still at work.
func (p pace) atLeast(least, usual time.Duration) time.Duration {
	return max(least, p.of(usual))
}
