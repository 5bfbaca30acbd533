package people

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outlook is what the rules of a purpose say about a person at an instant, before there is a
// contact. What depends on the contact or on its channel is left out: its text, limits, and
// the addresses that a channel is limited to.
type Outlook struct {
	Purpose string
	Allowed bool
	Rule    Rule      // by which it is not allowed
	Text    string    // in one sentence
	Until   time.Time // allowed: when the hours end; otherwise: when it is, zero if it is not by waiting
	NotOver []string  // channels over which the person has refused
}

// Look returns what the rules say about a contact of a person at an instant. The claim has no
// channel and no text.
func Look(c *Claim, now time.Time) Outlook {
	v := Judge(c, now)
	o := Outlook{Purpose: c.Name, Allowed: v.Rule == "", Rule: Rule(v.Rule), Until: v.Receipt.Until}
	if !o.Allowed {
		o.Until = v.Due
	} else {
		o.NotOver = c.notOver()
	}
	o.Text = o.sentence(c, &v)
	return o
}

// notOver lists the channels over which the person has refused a purpose that is otherwise
// allowed.
func (c *Claim) notOver() (list []string) {
	if c.Purpose.Exempt() {
		return nil
	}
	for _, s := range c.States {
		name, ok := strings.CutPrefix(s.Purpose, channelPurpose)
		if refused, _ := Decide(c.States, c.Name, s.Purpose); ok && refused && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// sentence returns the outlook in one sentence. Each format is a whole one or the end of one, so that a page finds it in
// its language; %v is a part in the words of this package, see package locale of the dashboard.
func (o *Outlook) sentence(c *Claim, v *Verdict) string {
	switch {
	case o.Allowed:
		return fmt.Sprintf("For %s the person may be contacted now%v", o.Purpose, o.rest(c, v))
	case o.Until.IsZero():
		return fmt.Sprintf("For %s the person is not contacted: %v", o.Purpose, v.Reason)
	default:
		return fmt.Sprintf("For %s the person is not contacted before %s: %v", o.Purpose, instantText(o.Until), v.Reason)
	}
}

// rest returns what follows that the person may be contacted.
func (o *Outlook) rest(c *Claim, v *Verdict) (rest string) {
	f, _ := ReadFacts(v.Receipt)
	var caps string // what they leave, before the next contact
	for _, l := range slices.Backward(f.Left) {
		if caps == "" {
			caps = fmt.Sprintf("cap %v: %d left", l.Cap, l.N+1)
		} else {
			caps = fmt.Sprintf("cap %v: %d left; %v", l.Cap, l.N+1, caps)
		}
	}
	names := strings.Join(o.NotOver, ", ")
	switch {
	case names != "" && caps != "":
		rest = fmt.Sprintf(", but not over %s; %v", names, caps)
	case names != "":
		rest = fmt.Sprintf(", but not over %s", names)
	case caps != "":
		rest = fmt.Sprintf("; %v", caps)
	}
	if !o.Until.IsZero() {
		rest = fmt.Sprintf(", until %s UTC%v", o.Until.UTC().Format(time.DateTime), rest)
	}
	if refused, _ := Decide(c.States, c.Name); refused { // the purpose is exempt
		rest = fmt.Sprintf(", although the person has refused%v", rest)
	}
	return rest
}

func instantText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
