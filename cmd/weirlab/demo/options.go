package demo

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Options are the settings of the demo. Get them from [Defaults] and change some as
// needed.
type Options struct {
	Respondents int     // of all surveys together
	Capacity    int     // of each channel; 0: the default
	Kills       int     // how often the broker is killed during the run, with one process
	Processes   int     // of Weir; more than 1: on a private MariaDB or MySQL server
	Seed        uint64  // of all random choices
	Speed       float64 // how many times faster than usual people and providers are
	Serve       bool    // live traffic until the context ends, at a pace that one can watch

	Program string    // the program weir
	Out     io.Writer // where the demo is shown
	// Terminal is set if Out can be redrawn in place; Width then returns its
	// number of columns, which may change.
	Terminal bool
	Width    func() int
	Color    bool
}

// Defaults returns the options of a demo that takes less than a minute.
func Defaults() Options { return Options{Respondents: 2000, Kills: 1, Processes: 1, Seed: 1, Speed: 1} }

// Bounds of the options.
const (
	minRespondents = 10
	maxRespondents = 1_000_000
	maxKills       = 100
	maxProcesses   = 9
	maxCapacity    = 10_000
	maxSpeed       = 100
	minSpeed       = 0.01
)

// Check returns every mistake in the options.
func (o Options) Check() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.Respondents < minRespondents || o.Respondents > maxRespondents, "--respondents is %d; want %d to %d", o.Respondents, minRespondents, maxRespondents)
	wrong(o.Capacity < 0 || o.Capacity > maxCapacity, "--capacity is %d; want 1 to %d, or 0 for the usual", o.Capacity, maxCapacity)
	wrong(o.Kills < 0 || o.Kills > maxKills, "--kills is %d; want 0 to %d", o.Kills, maxKills)
	wrong(o.Processes < 1 || o.Processes > maxProcesses, "--processes is %d; want 1 to %d", o.Processes, maxProcesses)
	wrong(o.Serve && o.several(), "--processes is %d; with --serve there is 1", o.Processes)
	wrong(!(o.Speed >= minSpeed && o.Speed <= maxSpeed), "--speed is %g; want %g to %d", o.Speed, minSpeed, maxSpeed)
	return errors.Join(errs...)
}

// The channels of the demo; the last two with several processes only.
const (
	calls     = "calls"
	texts     = "texts"
	moreCalls = "calls-2"
	moreTexts = "texts-2"
)

// several reports whether several processes share a database.
func (o Options) several() bool { return o.Processes > 1 }

// pace returns how fast people and providers are. With live traffic they are slower, so that
// one can watch them.
func (o Options) pace() pace {
	if o.Serve {
		return pace{o.Speed / 4}
	}
	return pace{o.Speed}
}

// providers of the channels.
const (
	verboiceName = "Verboice"
	nuntiumName  = "Nuntium"
)

// channel holds the demo's settings of a channel.
type channel struct {
	name     string
	provider string
	unit     string
	capacity int
}

func (o Options) channels() []*channel {
	all := []*channel{
		{name: calls, provider: verboiceName, unit: "calls", capacity: 80},
		{name: texts, provider: nuntiumName, unit: "messages", capacity: 40},
	}
	if o.Serve {
		all[0].capacity = 20
	}
	if o.several() {
		all = append(all, &channel{name: moreCalls, provider: verboiceName, unit: "calls", capacity: 80},
			&channel{name: moreTexts, provider: nuntiumName, unit: "messages", capacity: 40})
	}
	for _, c := range all {
		if o.Capacity > 0 {
			c.capacity = o.Capacity
		}
	}
	return all
}

// pace scales the durations of a run.
type pace struct{ speed float64 }

// of returns a duration, scaled by the speed.
func (p pace) of(usual time.Duration) time.Duration {
	return time.Duration(float64(usual) / p.speed)
}

// atLeast does the same with a min for the broker's limits, which must not expire on a
// slow machine while a provider is still working.
func (p pace) atLeast(least, usual time.Duration) time.Duration {
	return max(least, p.of(usual))
}

// delay returns a duration in the format of surveys: whole seconds, rounded up.
func (p pace) delay(usual time.Duration) string {
	return fmt.Sprintf("%ds", int(math.Ceil(p.of(usual).Seconds())))
}
