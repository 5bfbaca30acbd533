package demo

import (
	"fmt"
	"strings"
	"unicode"

	"weir"
	"weir/channels/simulation"
	"weir/client"
)

// evidence holds all data about one channel at the end.
type evidence struct {
	Channel  string
	Provider string
	Capacity int
	Contacts []client.ContactView // as the broker reports them
	// The provider's record.
	Line simulation.LineReport
	Keys []simulation.KeyReport
}

// finding is the result of the evidence about one channel. All fields except
// PeakActive, Capacity, Units and Twice count contacts.
type finding struct {
	Channel      string
	Provider     string
	Capacity     int
	Acknowledged int
	Sent         int // contacts that the provider has, at least in part
	Units        int // calls or messages that the provider has
	PeakActive   int
	Twice        int // surplus calls or messages that the provider has
	Lost         int // acknowledged, and neither at the provider nor accounted for
	Open         int // not done
	Strange      int // at the provider, but never acknowledged
	Unclear      int // ended as lost, because the outcome was unknown
	UnclearSent  int // of the unclear ones, how many the provider does have
	Outcomes     map[weir.Outcome]int
}

// judge compares the broker's data with the provider's record.
func judge(e evidence) finding {
	f := finding{
		Channel: e.Channel, Provider: e.Provider, Capacity: e.Capacity, PeakActive: e.Line.PeakActive,
		Acknowledged: len(e.Contacts), Outcomes: map[weir.Outcome]int{},
	}
	has, at := f.count(e.Keys)
	known, asked := map[string]bool{}, map[string]int{}
	for _, c := range e.Contacts {
		known[c.ID] = true
		asked[digits(c.To)] += c.Size
		f.weigh(weir.Outcome(c.Outcome), c.Size, has[c.ID])
	}
	for id := range has {
		if !known[id] {
			f.Strange++
		}
	}
	// The same call or message under another key is a duplicate, too.
	for address, n := range at {
		f.Twice += max(0, n-asked[address])
	}
	return f
}

// count returns how many calls or messages the provider has, by contact and by
// address, without repeated keys.
func (f *finding) count(keys []simulation.KeyReport) (has, at map[string]int) {
	has, at = map[string]int{}, map[string]int{}
	for _, k := range keys {
		id, _, _ := strings.Cut(k.Key, ".") // a message's key is the contact's and a number
		has[id]++
		at[digits(k.Address)]++
		f.Units++
		f.Twice += max(0, k.Taken-1)
	}
	return has, at
}

// weigh judges one contact of a number of calls or messages; has is how many of them the
// provider has.
func (f *finding) weigh(end weir.Outcome, units, has int) {
	if has > 0 {
		f.Sent++
	}
	if end != "" {
		f.Outcomes[end]++
	}
	switch {
	case end == "":
		f.Open++
		if has == 0 {
			f.Lost++
		}
	case end == weir.Lost:
		f.Unclear++
		if has > 0 {
			f.UnclearSent++
		}
	case end == weir.Completed && has < units, (end == weir.Busy || end == weir.NoAnswer) && has == 0:
		f.Lost++ // reported as reached, but the provider has no such call or message
	}
}

// faults lists the reasons why the demo has failed on this channel.
func (f *finding) faults() []string {
	var out []string
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, f.Channel+": "+fmt.Sprintf(format, args...))
		}
	}
	add(f.PeakActive > f.Capacity, "%d in flight, over the capacity of %d", f.PeakActive, f.Capacity)
	add(f.Twice > 0, "%d sent twice", f.Twice)
	add(f.Lost > 0, "%d lost", f.Lost)
	add(f.Open > 0, "%d not done", f.Open)
	add(f.Strange > 0, "%d at the provider that Weir never acknowledged", f.Strange)
	return out
}

// digits makes addresses comparable, however they are formatted.
func digits(address string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, address)
}
