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
	o.Text = o.sentence(c, v.Reason)
	if o.Allowed {
		o.Text += leftText(&v)
	}
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

func (o *Outlook) sentence(c *Claim, reason string) string {
	who := "For " + o.Purpose + " the person "
	switch {
	case o.Allowed:
		text := who + "may be contacted now"
		if refused, _ := Decide(c.States, c.Name); refused { // the purpose is exempt
			text += ", although the person has refused"
		}
		if !o.Until.IsZero() {
			text += ", until " + instantText(o.Until)
		}
		if len(o.NotOver) > 0 {
			text += ", but not over " + strings.Join(o.NotOver, ", ")
		}
		return text
	case o.Until.IsZero():
		return who + "is not contacted: " + reason
	default:
		return who + "is not contacted before " + instantText(o.Until) + ": " + reason
	}
}

// leftText returns what caps leave, before the next contact.
func leftText(v *Verdict) string {
	f, _ := ReadFacts(v.Receipt)
	var b strings.Builder
	for _, l := range f.Left {
		fmt.Fprintf(&b, "; cap %s: %d left", l.Cap, l.N+1)
	}
	return b.String()
}

func instantText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
