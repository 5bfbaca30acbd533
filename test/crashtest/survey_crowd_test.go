package crashtest_test

import (
	"strings"
	"testing"
	"time"
)

// party is a provider with the record of its outreaches.
type party struct {
	out  *outside
	seen *records
}

// crowd is the people who write messages: each answers what has reached them, or
// sends STOP, at once or just when the next attempt is due.
type crowd struct {
	t       *testing.T
	parties []party
	write   func(guid, from, text string)
	known   map[string]bool
	stops   map[string]string // guid of the message that says STOP, by "survey respondent"
	later   []letter
	done    chan struct{}
	ended   chan struct{}
}

// letter is a message to be sent at an instant.
type letter struct {
	at               time.Time
	guid, from, text string
}

func newCrowd(t *testing.T, write func(guid, from, text string), parties ...party) *crowd {
	t.Helper()
	c := &crowd{
		t: t, parties: parties, write: write, known: map[string]bool{}, stops: map[string]string{},
		done: make(chan struct{}), ended: make(chan struct{}),
	}
	go func() {
		defer close(c.ended)
		for rest(c.done, 40*time.Millisecond) {
			c.look(time.Now())
		}
	}()
	t.Cleanup(c.end)
	return c
}

func (c *crowd) end() {
	select {
	case <-c.done:
	default:
		close(c.done)
	}
	<-c.ended
}

// look lets people answer new calls and texts.
func (c *crowd) look(now time.Time) {
	for _, p := range c.parties {
		words := map[string]string{}
		for _, o := range p.seen.all() {
			words[o.key] = o.what
		}
		for _, k := range p.out.tally.Keys(p.out.line) {
			if k.Active == 0 && !c.known[k.Key] {
				c.known[k.Key] = true
				c.hear(now, k.Key, strings.TrimPrefix(k.Address, "sms://"), strings.Fields(words[k.Key]))
			}
		}
	}
	left := c.later[:0]
	for _, l := range c.later {
		if l.at.After(now) {
			left = append(left, l)
			continue
		}
		c.write(l.guid, l.from, l.text)
	}
	c.later = left
}

// hear decides what a person writes after a call or a text.
func (c *crowd) hear(now time.Time, key, from string, said []string) {
	guid := "m-" + key
	if len(said) == 3 && said[1] == "again" {
		c.write(guid, from, "1")
	}
	if len(said) != 4 {
		return
	}
	who := said[0] + " " + said[1]
	mood := whim(who, said[2], "says")
	switch text := said[2] == "sms"; {
	case c.stops[who] != "":
	case mood < 25:
		c.stops[who] = guid
		// The next attempts are one and two seconds after this one.
		at := now.Add(time.Duration([]int{0, 900, 1900}[mood%3]+2*whim(key)) * time.Millisecond)
		c.later = append(c.later, letter{at, guid, from, "STOP"})
	case text && mood < 55:
		c.write(guid, from, "1")
	case text && mood < 70:
		c.write(guid, from, "what")
	}
}
