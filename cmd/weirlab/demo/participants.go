package demo

import (
	"context"
	"hash/fnv"
	"maps"
	"time"

	"weir/channels/simulation"
)

// participants simulates the people who write: each answers the messages that reach it after a
// while, in its own way.
type participants struct {
	seed  uint64
	speed pace
	tally *simulation.Tally
	line  string
	write func(from, body string) error
	talks *talks // of the people whom Weir asks

	seen     map[string]bool // messages that have reached a person
	reached  map[string]int  // messages, by digits of the number
	pending  []answer
	stopped  map[string]bool // people who wrote STOP
	answered map[string]bool // people who answered the question
	err      error
}

// answer is a message that a person is about to write.
type answer struct {
	due      time.Time
	to, body string
	asked    bool // by Weir, in a conversation of questions
}

const (
	lookEvery = 50 * time.Millisecond
	stopWord  = "STOP"
)

func newParticipants(seed uint64, p pace, tally *simulation.Tally, line string, write func(from, body string) error) *participants {
	return &participants{seed: seed, speed: p, tally: tally, line: line, write: write, talks: newTalks(seed), seen: map[string]bool{}, reached: map[string]int{}, stopped: map[string]bool{}, answered: map[string]bool{}}
}

// run lets people write until the context ends.
func (c *participants) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for c.err == nil {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			c.poll(now, c.tally.Keys(c.line))
		}
	}
}

// poll records the messages that have reached a person, and writes the answers
// that are due.
func (c *participants) poll(now time.Time, keys []simulation.KeyReport) {
	c.forget(keys)
	for _, k := range keys {
		if k.Active > 0 || c.seen[k.Key] {
			continue
		}
		c.seen[k.Key] = true
		number := digits(k.Address)
		says, asked := c.talks.reply(number, k.Key)
		if said := script(c.seed, number); !asked && c.reached[number] < len(said) {
			says = said[c.reached[number]]
		}
		if says != "" {
			wait := c.speed.of(200*time.Millisecond + time.Duration(choice(c.seed, number, "wait")%500)*time.Millisecond)
			c.pending = append(c.pending, answer{now.Add(wait), number, says, asked})
		}
		c.reached[number]++
	}
	rest := c.pending[:0]
	for _, a := range c.pending {
		if a.due.After(now) {
			rest = append(rest, a)
			continue
		}
		if err := c.write(a.to, a.body); err != nil {
			c.err = err
			return
		}
		switch {
		case a.body == stopWord:
			c.stopped[a.to] = true
		case !a.asked && (a.body == "1" || a.body == "2"):
			c.answered[a.to] = true
		}
	}
	c.pending = rest
}

// forget drops what is known of messages and people that the provider has forgotten.
func (c *participants) forget(keys []simulation.KeyReport) {
	if len(c.seen) <= len(keys) { // every message that was seen is still there
		return
	}
	kept, people := map[string]bool{}, map[string]bool{}
	for _, k := range keys {
		kept[k.Key], people[digits(k.Address)] = true, true
	}
	maps.DeleteFunc(c.seen, func(key string, _ bool) bool { return !kept[key] })
	maps.DeleteFunc(c.reached, func(number string, _ int) bool { return !people[number] })
	for _, of := range []map[string]bool{c.stopped, c.answered} {
		maps.DeleteFunc(of, func(number string, _ bool) bool { return !people[number] })
	}
}

// Numbers with these endings behave the same at both providers.
const (
	neverPicksUp = "3"  // calls are not answered
	noSuchNumber = "73" // messages fail, too
)

// script returns a person's answers to messages: the first answer follows the first
// message, and so on.
func script(seed uint64, number string) []string {
	if len(number) > 2 && number[len(number)-2:] == noSuchNumber {
		return nil
	}
	switch w := choice(seed, number, "says") % 100; {
	case w < 15:
		return nil
	case w < 25:
		return []string{stopWord}
	case w < 40:
		return []string{"", "1"} // only when asked again
	case w < 60:
		return []string{"Who is this?", "2"}
	default:
		return []string{"1"}
	}
}

// choice returns a hash that is always the same for a person and a question.
func choice(seed uint64, number, question string) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for i := range b {
		b[i] = byte(seed >> (8 * i))
	}
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(question + " " + number))
	x := h.Sum64()
	return x ^ x>>29
}
