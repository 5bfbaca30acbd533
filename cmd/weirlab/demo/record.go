package demo

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weir"
	"weir/channels/simulation"
	"weir/client"
)

// record is the record of proof of live traffic. Each contact is judged once, when Weir says
// that it is done, by what its provider has recorded; then only counts remain of it. So memory
// holds what is not done, and what ended within [judgedFor]. It is safe for concurrent use.
type record struct {
	refusals *refusals

	mu       sync.Mutex
	channels []*channelRecord
	pledged  map[string]pledge    // accepted with a 202, and not known to be done
	judged   map[string]time.Time // contacts that were judged, and when
	rules    map[string]int       // suppressed, by rule
	breached map[string]bool      // calls and messages that reached people after STOP
	asked    map[string]time.Time // contacts that Weir was asked about one by one, and when
	readAt   time.Time            // when Weir's list was read the last time
	talked   asked                // in conversations that are judged
	talks    *talks               // that go on
}

// channelRecord is the record of one channel. The finding counts what was judged.
type channelRecord struct {
	finding
	waiting int                    // accepted and not done, by Weir's figures
	line    simulation.LineReport  // the provider's own counts
	keys    []simulation.KeyReport // that the provider still has
}

// pledge is a contact that Weir has accepted.
type pledge struct {
	channel string
	at      time.Time
}

const (
	// judgedFor is for how long it is known that a contact was judged, and its key at the
	// provider is kept. Lists of contacts that are done overlap by less.
	judgedFor = 3 * time.Minute
	// overdue is the age from which Weir is asked about a contact that should be known to be done.
	overdue = 2 * time.Minute
	// unread is how long Weir's list may be unreadable: without it nothing is proved.
	unread = time.Minute
	// maxBreached bounds the breaches that are told apart; there should be none.
	maxBreached = 10_000
)

func newRecord(r *refusals, t *talks, channels []*channel) *record {
	out := &record{talks: t, readAt: time.Now(), refusals: r, pledged: map[string]pledge{}, judged: map[string]time.Time{}, rules: map[string]int{}, breached: map[string]bool{}, asked: map[string]time.Time{}}
	for _, c := range channels {
		out.channels = append(out.channels, &channelRecord{finding: finding{Channel: c.name, Provider: c.provider, Capacity: c.capacity, Outcomes: map[weir.Outcome]int{}}})
	}
	return out
}

func (r *record) channel(name string) *channelRecord {
	i := slices.IndexFunc(r.channels, func(c *channelRecord) bool { return c.Channel == name })
	if i < 0 {
		return nil
	}
	return r.channels[i]
}

// accepted records the contacts that Weir has accepted.
func (r *record) accepted(channel string, ids []string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if _, done := r.judged[id]; !done {
			r.pledged[id] = pledge{channel, now}
		}
	}
}

// conversed adds what is proved of the conversations of a survey.
func (r *record) conversed(a asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.talked.add(a)
}

// read records that Weir's list of what is done was read.
func (r *record) read(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readAt = now
}

// observed records the provider's counts of a channel, and how many contacts wait at Weir.
func (r *record) observed(channel string, line simulation.LineReport, keys []simulation.KeyReport, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.channel(channel)
	c.line, c.keys, c.waiting, c.PeakActive = line, keys, waiting, line.PeakActive
	there := map[string]bool{} // at the provider, and not judged yet
	for _, k := range keys {
		if id := contactOf(k.Key); r.judged[id].IsZero() {
			there[id] = true
		}
	}
	c.waiting = max(waiting, len(there)) // Weir's figures may be older
	for _, key := range r.refusals.breaches(keys) {
		if len(r.breached) < maxBreached {
			r.breached[channel+" "+key] = true
		}
	}
}

// judge judges contacts that are done, as far as they were not before. The provider's record must
// have been read after the list of these contacts.
func (r *record) judge(done []client.ContactView, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := map[string][]simulation.KeyReport{}
	for _, c := range r.channels {
		for _, k := range c.keys {
			id := contactOf(k.Key)
			has[id] = append(has[id], k)
		}
	}
	for i := range done {
		c := &done[i]
		of := r.channel(c.Channel)
		if _, before := r.judged[c.ID]; before || of == nil || c.Outcome == "" {
			continue
		}
		r.judged[c.ID] = now
		delete(r.pledged, c.ID)
		of.take(c, has[c.ID])
		if c.Outcome == string(weir.Suppressed) {
			r.rules[c.Rule]++
		}
	}
	r.prune(has, now)
}

// contactOf returns the contact of a provider's key: a message's key is the contact's and a number.
func contactOf(key string) string {
	id, _, _ := strings.Cut(key, ".")
	return id
}

// take judges one contact.
func (c *channelRecord) take(v *client.ContactView, keys []simulation.KeyReport) {
	c.Acknowledged++
	c.weigh(weir.Outcome(v.Outcome), v.Size, len(keys))
	c.Twice += max(0, len(keys)-v.Size) // under several keys; the provider counts repeated keys itself
	late := func(k simulation.KeyReport) bool { return k.At.After(v.FinishedAt.Add(underway)) }
	if v.Outcome != string(weir.Lost) && slices.ContainsFunc(keys, late) {
		c.Strange++ // it reached the provider after its end
	}
}

// prune forgets what was judged a while ago and is no longer in the provider's record.
func (r *record) prune(has map[string][]simulation.KeyReport, now time.Time) {
	maps.DeleteFunc(r.judged, func(id string, at time.Time) bool { return now.Sub(at) > judgedFor && has[id] == nil })
	maps.DeleteFunc(r.asked, func(_ string, at time.Time) bool { return now.Sub(at) > overdue })
}

// mayForget reports whether the provider's record of a key is needed no longer.
func (r *record) mayForget(k simulation.KeyReport, now time.Time) bool {
	at, judged := r.judged[contactOf(k.Key)]
	return judged && now.Sub(at) > judgedFor
}

// forget lets a provider drop the keys of contacts that were judged a while ago.
func (r *record) forget(tally *simulation.Tally, line string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tally.Forget(line, now.Add(-judgedFor), func(k simulation.KeyReport) bool { return r.mayForget(k, now) })
}

// doubtful returns contacts about which Weir has to be asked one by one: accepted long ago and
// not known to be done, or long done at the provider. At most a few at one time.
func (r *record) doubtful(now time.Time) []string {
	const few = 50
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	add := func(id string, since time.Time) {
		_, judged := r.judged[id]
		_, asked := r.asked[id]
		if !judged && !asked && now.Sub(since) > overdue && len(out) < few {
			r.asked[id] = now
			out = append(out, id)
		}
	}
	for id, p := range r.pledged {
		add(id, p.at)
	}
	for _, c := range r.channels {
		for _, k := range c.keys {
			if k.Active == 0 {
				add(contactOf(k.Key), k.At)
			}
		}
	}
	return out
}

// unknown records that Weir does not know a contact that it was asked about.
func (r *record) unknown(id string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged[id] = now
	if p, accepted := r.pledged[id]; accepted {
		delete(r.pledged, id)
		r.channel(p.channel).Lost++ // accepted and gone
		return
	}
	for _, c := range r.channels {
		if slices.ContainsFunc(c.keys, func(k simulation.KeyReport) bool { return contactOf(k.Key) == id }) {
			c.Strange++
		}
	}
}

// proof is what the record shows at an instant.
type proof struct {
	Channels []channelProof
	Rules    []ruled // how many contacts each rule suppressed
	Refused  int     // people who wrote STOP
	Breached int     // calls and messages that reached them after that
	Asked    asked   // in conversations that Weir held
	Faults   []string
}

// channelProof is the proof of a channel.
type channelProof struct {
	Channel, Provider                    string
	Accepted, Done, Sent, Peak, Capacity int
	Doubled, Lost, Unclear, Suppressed   int
}

// proof returns what is proved so far.
func (r *record) proof(now time.Time) proof {
	_, refused := r.refusals.people()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := proof{Refused: refused, Breached: len(r.breached), Asked: r.talked}
	p.Asked.add(r.talks.ongoing())
	for _, c := range r.channels {
		f := c.finding
		f.Twice += c.line.Doubled
		p.Channels = append(p.Channels, channelProof{
			Channel: c.Channel, Provider: c.Provider, Accepted: c.Acknowledged + c.waiting, Done: c.Acknowledged, Sent: c.line.Sent,
			Peak: c.PeakActive, Capacity: c.Capacity, Doubled: f.Twice, Lost: f.Lost, Unclear: f.Unclear, Suppressed: f.Outcomes[weir.Suppressed],
		})
		p.Faults = append(p.Faults, f.faults()...)
	}
	for _, rule := range slices.Sorted(maps.Keys(r.rules)) {
		p.Rules = append(p.Rules, ruled{rule, "contacts suppressed", r.rules[rule]})
	}
	if age := now.Sub(r.readAt); age > unread {
		p.Faults = append(p.Faults, "Weir's list of what is done could not be read for "+unread.String())
	}
	p.Faults = append(p.Faults, p.Asked.faults()...)
	if p.Breached > 0 {
		p.Faults = append(p.Faults, plural(p.Breached, "contact", "contacts")+" reached people who had refused")
	}
	return p
}

// size returns how much the record holds in memory, in entries.
func (r *record) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pledged) + len(r.judged) + len(r.asked)
}

// table shows the proof in a terminal.
func (p *proof) table() []string {
	rows := [][]string{{"channel", "provider", "accepted", "done", "sent", "most in flight", "sent twice", "lost", "unclear", "suppressed"}}
	for _, c := range p.Channels {
		rows = append(rows, []string{
			c.Channel, c.Provider, number(c.Accepted), number(c.Done), number(c.Sent), number(c.Peak) + " of " + number(c.Capacity),
			number(c.Doubled), number(c.Lost), number(c.Unclear), number(c.Suppressed),
		})
	}
	return table(rows, 2)
}
