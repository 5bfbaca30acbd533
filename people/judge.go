package people

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
	"time"

	"weir"
	"weir/limits"
)

// Claim is a contact that is about to be claimed.
type Claim struct {
	Name    string // of its purpose
	Purpose *Purpose
	Channel string // its name
	Reply   bool   // an answer to the person: consent alone counts
	// Confirms is the id of the consent that the contact confirms to the person; 0: none.
	Confirms int64
	Contact  weir.Ref         // entries of its own are no repetition
	Text     int64            // see [TextOf]
	Zones    []*time.Location // of the person, at least one
	States   []State
	Before   []Entry // contacts of the person so far, in any order
	// Openings remembers what hours and days allow; nil: it is worked out for this claim.
	Openings *Openings

	Cost     limits.Money // that is reserved
	Currency string       // empty: the channel has no price
}

// Entry is an earlier contact of a person.
type Entry struct {
	At      time.Time
	Purpose string
	Contact weir.Ref
	Text    int64
}

// Verdict is what the rules say about a claim.
type Verdict struct {
	weir.Receipt           // with a rule: the contact is not dispatched
	Reason       string    // then: why, in a sentence
	Due          time.Time // then: it waits until this instant; zero: it ends
	Channel      bool      // then: its channel waits, not this contact alone; the claim is undone
}

// maxWait bounds how long a contact waits for hours and days in which it is allowed. The
// rules are looked at again then.
const maxWait = 30 * day

// Judge decides about a claim.
func Judge(c *Claim, now time.Time) Verdict {
	p := c.Purpose
	looked := Facts{Purpose: c.Name, Rules: []Rule{RuleConsent}, Cost: c.Cost, Currency: c.Currency}
	refused, by := Decide(c.States, c.Name, OverChannel(c.Channel))
	given := by.Status == Given
	looked.Consent, looked.Refused = by.Version, refused
	if c.Confirms != 0 {
		return c.confirm(looked, by, now)
	}
	if refused && p.Exempt() {
		looked.Exempt = p.ExemptReason
	}
	switch {
	case refused && !p.Exempt():
		return looked.stop(RuleConsent, Reason(by), time.Time{})
	case p.Consent == IfRecorded && !given:
		return looked.stop(RuleUnrecorded, "no consent for "+c.Name+" is recorded", time.Time{})
	case c.Reply || !p.Ruled():
		return Verdict{Receipt: looked.receipt(time.Time{})}
	}
	if p.repeat > 0 && c.Text != 0 {
		looked.Rules = append(looked.Rules, RuleRepeat)
		for _, e := range c.Before {
			if e.Text == c.Text && e.Contact != c.Contact && now.Sub(e.At) < p.repeat {
				return looked.stop(RuleRepeat, "the same text went to the address within "+p.RepeatGuard, time.Time{})
			}
		}
	}
	return c.wait(looked, now)
}

// ConfirmWithin is how long after a refusal the person may still get its confirmation.
const ConfirmWithin = 5 * time.Minute

// confirm decides about the confirmation of a refusal. The refusal that it confirms, or the
// same one said again, is not against it, and neither are hours: the person has just written.
// Any other refusal is, and so is that the person has taken it back.
func (c *Claim) confirm(looked Facts, by State, now time.Time) Verdict {
	switch {
	case by.Status != Refused:
		return looked.stop(RuleConsent, "the refusal that it confirms was taken back", time.Time{})
	case by.Source != FromWord || by.Version < c.Confirms:
		return looked.stop(RuleConsent, Reason(by), time.Time{})
	case now.Sub(by.At) >= ConfirmWithin:
		return looked.stop(RuleConsent, "a refusal is confirmed within five minutes or not at all", time.Time{})
	}
	looked.Confirms = true
	return Verdict{Receipt: looked.receipt(by.At.Add(ConfirmWithin))}
}

// wait applies the rules for which a contact waits.
func (c *Claim) wait(looked Facts, now time.Time) Verdict {
	p := c.Purpose
	var counted map[Over][]time.Time
	if len(p.Caps) > 0 {
		counted = c.counted()
		looked.Rules = append(looked.Rules, RuleCap)
	}
	if p.QuietHours != nil {
		looked.Rules = append(looked.Rules, RuleHours)
	}
	if len(p.Holidays) > 0 {
		looked.Rules = append(looked.Rules, RuleHoliday)
	}
	looked.in(c.Zones)
	var rule Rule
	var reason string
	at := now
	for before := (time.Time{}); !at.Equal(before) && at.Sub(now) < maxWait; {
		before = at
		for i := range p.Caps {
			left, free := p.Caps[i].count(counted[p.Caps[i].Over], c.Zones, at)
			if rule == "" {
				looked.Left = append(looked.Left, Left{p.Caps[i].Text(), max(0, left-1)})
			}
			if left <= 0 && free.After(at) {
				if at = free; rule == "" {
					rule, reason = RuleCap, fmt.Sprintf("contacted %v already", p.Caps[i].Text())
				}
			}
		}
		if _, known := c.Openings.lookup(p, c.Zones, at); known {
			continue
		}
		open, by := p.allowed(at, c.Zones)
		if open.After(at) {
			if at = open; rule == "" {
				rule, reason = by, p.whyClosed(by, now, c.Zones)
			}
		}
	}
	if rule != "" {
		return looked.stop(rule, reason, earliest(at, now.Add(maxWait)))
	}
	closes, known := c.Openings.lookup(p, c.Zones, now)
	if !known {
		closes = p.closes(now, c.Zones)
		c.Openings.store(p, c.Zones, now, closes)
	}
	return Verdict{Receipt: looked.receipt(closes)}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// counted returns when the contacts were that caps count: the newest, which decide, the oldest of
// them first.
func (c *Claim) counted() map[Over][]time.Time {
	n := c.Purpose.Needs()
	return map[Over][]time.Time{OverAll: c.newest(n.All, false), OverPurpose: c.newest(n.Purpose, true)}
}

// newest returns when the newest n of all earlier contacts were, or of those for the purpose. Most
// are in their order, so that it costs a look at each.
func (c *Claim) newest(n int, own bool) []time.Time {
	list := make([]time.Time, 0, min(n, len(c.Before))+1) // newest first
	for i := len(c.Before) - 1; i >= 0 && n > 0; i-- {
		e := &c.Before[i]
		if len(list) == n && !e.At.After(list[n-1]) || own && e.Purpose != c.Name {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, e.At, func(have, at time.Time) int { return at.Compare(have) })
		list = slices.Insert(list, at, e.At)
		list = list[:min(n, len(list))]
	}
	slices.Reverse(list)
	return list
}

// count returns how many contacts the cap leaves at an instant, the one in question among
// them, and if none, when it leaves one. Contacts leave the count in their order. So the newest
// Max alone matter, also of a cap that was lowered below what was done: it leaves one when the
// oldest of them is no longer counted.
func (k *Cap) count(counted []time.Time, zones []*time.Location, at time.Time) (left int, free time.Time) {
	counted = counted[max(0, len(counted)-k.Max):]
	gone := sort.Search(len(counted), func(i int) bool { return k.leaves(counted[i], zones).After(at) })
	if left = k.Max - (len(counted) - gone); left > 0 {
		return left, time.Time{}
	}
	return 0, k.leaves(counted[0], zones)
}

// leaves returns when an entry is no longer counted. Over calendar days the person's latest
// midnight counts.
func (k *Cap) leaves(at time.Time, zones []*time.Location) (leaves time.Time) {
	if k.Kind == Rolling {
		return at.Add(k.within)
	}
	for _, zone := range zones {
		y, m, d := at.In(zone).Date()
		if end := time.Date(y, m, d+int(k.within/day), 0, 0, 0, 0, zone); end.After(leaves) {
			leaves = end
		}
	}
	return leaves
}

// allowed returns the earliest instant, from at on, that no quiet hours and no holiday has in
// any of the zones; and which rule is against at.
func (p *Purpose) allowed(at time.Time, zones []*time.Location) (open time.Time, by Rule) {
	open = at
	for moved := true; moved && open.Sub(at) < maxWait; {
		moved = false
		for _, zone := range zones {
			if end, rule := p.closed(open.In(zone)); rule != "" {
				open, moved = end, true
				if by == "" {
					by = rule
				}
			}
		}
	}
	return open, by
}

// closed reports which rule is against a local time, and until when.
func (p *Purpose) closed(local time.Time) (end time.Time, by Rule) {
	y, m, d := local.Date()
	date := local.Format(time.DateOnly)
	for i := range p.Holidays {
		if p.Holidays[i].Date == date {
			return time.Date(y, m, d+1, 0, 0, 0, 0, local.Location()), RuleHoliday
		}
	}
	h := p.QuietHours
	if h == nil {
		return time.Time{}, ""
	}
	minute := local.Hour()*60 + local.Minute()
	switch {
	case h.from < h.to && minute >= h.from && minute < h.to, h.from > h.to && minute < h.to:
		end = time.Date(y, m, d, h.to/60, h.to%60, 0, 0, local.Location())
	case h.from > h.to && minute >= h.from:
		end = time.Date(y, m, d+1, h.to/60, h.to%60, 0, 0, local.Location())
	default:
		return time.Time{}, ""
	}
	if !end.After(local) { // the clocks are put back: the hour comes again
		end = local.Add(time.Minute)
	}
	return end, RuleHours
}

// closes returns when the hours end that an allowed instant is in; zero: not within two days.
func (p *Purpose) closes(at time.Time, zones []*time.Location) (closes time.Time) {
	for _, zone := range zones {
		local := at.In(zone)
		y, m, d := local.Date()
		for ahead := range 3 {
			var ends []time.Time
			if h := p.QuietHours; h != nil {
				ends = append(ends, time.Date(y, m, d+ahead, h.from/60, h.from%60, 0, 0, zone))
			}
			ends = append(ends, time.Date(y, m, d+ahead+1, 0, 0, 0, 0, zone))
			for _, end := range ends {
				if _, by := p.closed(end.In(zone)); by != "" && end.After(at) && (closes.IsZero() || end.Before(closes)) {
					closes = end
				}
			}
		}
	}
	return closes
}

// whyClosed says which rule is against an instant.
func (p *Purpose) whyClosed(by Rule, now time.Time, zones []*time.Location) string {
	for _, zone := range zones {
		local := now.In(zone)
		if _, rule := p.closed(local); rule != by {
			continue
		}
		where := zone.String()
		if len(zones) > 1 {
			where = fmt.Sprintf("%s, one of %d zones that the number may be in", where, len(zones))
		}
		if by == RuleHoliday {
			return fmt.Sprintf("it is a holiday, %s, in %s", local.Format(time.DateOnly), where)
		}
		return fmt.Sprintf("it is %s in %s, and %s to %s are quiet hours", local.Format("15:04"), where, p.QuietHours.From, p.QuietHours.To)
	}
	return string(by)
}

// Facts are what the rules found, as a receipt keeps it: in few bytes, because they are
// written with each claim.
type Facts struct {
	Purpose string `json:"p"`
	Rules   []Rule `json:"-"`           // that were looked at
	Looked  string `json:"r"`           // the same, a letter for each
	Consent int64  `json:"c,omitempty"` // version of the state that counted
	// Refused reports that the state is a refusal. The contact was claimed nonetheless because of
	// Exempt, what the purpose said why it reaches people who refused, or because it confirms it.
	Refused  bool   `json:"f,omitempty"`
	Exempt   string `json:"e,omitempty"`
	Confirms bool   `json:"k,omitempty"`
	Zone     string `json:"z,omitempty"` // of the person; of several the first
	More     int    `json:"m,omitempty"` // how many more zones the person may be in
	Left     []Left `json:"l,omitempty"` // of caps, after this contact

	Cost     limits.Money `json:"x,omitempty"` // that the claim has reserved
	Currency string       `json:"y,omitempty"` // empty: the channel has no price
	Settled  bool         `json:"s,omitempty"` // Cost is what it has cost
}

// Left is what a cap leaves.
type Left struct {
	Cap string `json:"c"`
	N   int    `json:"n"`
}

// letters are the rules as a receipt has them.
func letters() map[Rule]byte {
	return map[Rule]byte{RuleConsent: 'c', RuleRepeat: 'r', RuleCap: 'l', RuleHours: 'q', RuleHoliday: 'h'}
}

func (f *Facts) in(zones []*time.Location) {
	f.Zone, f.More = zones[0].String(), len(zones)-1
}

// receipt returns the receipt of a claim that nothing is against. One with consent alone to
// look at, and nothing recorded, has none.
func (f *Facts) receipt(until time.Time) weir.Receipt {
	if len(f.Rules) == 1 && f.Consent == 0 && f.Currency == "" {
		return weir.Receipt{}
	}
	return weir.Receipt{Until: until, Facts: f.encode()}
}

func (f *Facts) stop(rule Rule, reason string, due time.Time) Verdict {
	return Verdict{Receipt: weir.Receipt{Rule: string(rule), Facts: f.encode()}, Reason: reason, Due: due}
}

func (f *Facts) encode() string {
	looked, of := make([]byte, 0, len(f.Rules)), letters()
	for _, r := range f.Rules {
		looked = append(looked, of[r])
	}
	f.Looked = string(looked)
	text, _ := json.Marshal(f) // texts and numbers
	return string(text)
}

// ReadFacts reads the facts of a receipt.
func ReadFacts(r weir.Receipt) (f Facts, ok bool) {
	if r.Facts == "" || json.Unmarshal([]byte(r.Facts), &f) != nil {
		return f, false
	}
	of := letters()
	for _, letter := range []byte(f.Looked) {
		for _, rule := range Rules() {
			if of[rule] == letter {
				f.Rules = append(f.Rules, rule)
			}
		}
	}
	return f, true
}

// Reserved returns what a claim has reserved, by its receipt. Most claims have no price: they
// cost no decoding.
func Reserved(r weir.Receipt) (amount limits.Money, currency string) {
	if !strings.Contains(r.Facts, `"y":`) {
		return 0, ""
	}
	f, _ := ReadFacts(r)
	return f.Cost, f.Currency
}

// Settle returns a receipt with what its attempt has cost, and what was reserved for it.
func Settle(r weir.Receipt, cost func(reserved limits.Money, currency string) limits.Money) (settled weir.Receipt, reserved limits.Money, currency string) {
	if reserved, currency = Reserved(r); currency == "" {
		return r, 0, ""
	}
	f, _ := ReadFacts(r)
	if f.Settled {
		return r, 0, ""
	}
	f.Cost, f.Settled = cost(reserved, currency), true
	r.Facts = f.encode()
	return r, reserved, currency
}

// TextOf identifies what messages say; 0: nothing.
func TextOf(messages []string) int64 {
	if len(messages) == 0 {
		return 0
	}
	h := fnv.New64a()
	for _, m := range messages {
		_, _ = h.Write([]byte(m))
		_, _ = h.Write([]byte{0})
	}
	return int64(h.Sum64() >> 1)
}
