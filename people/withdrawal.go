package people

import (
	"slices"

	"weir"
)

// Withdrawal is what people have refused just now: contacts to them that are in flight already
// are called off where the provider can.
type Withdrawal struct {
	refused map[string][]string // purposes by canonical address
	exempt  []string            // purposes that reach people who refused
}

// Withdrawn returns what consents have refused. states are the states behind them, as
// RecordConsents returns them: a refusal that changes nothing, because something newer is
// known, withdraws nothing.
func Withdrawn(consents []Consent, states []State, known map[string]*Purpose) *Withdrawal {
	w := &Withdrawal{refused: map[string][]string{}}
	for i := range consents {
		if c := &consents[i]; c.Status == Refused && i < len(states) && states[i].Status == Refused {
			w.refused[c.Address] = append(w.refused[c.Address], c.Purpose)
		}
	}
	for name, p := range known {
		if p.Exempt() {
			w.exempt = append(w.exempt, name)
		}
	}
	return w
}

// Empty reports whether nothing was refused.
func (w *Withdrawal) Empty() bool { return len(w.refused) == 0 }

// Covers reports whether a contact is not wanted any more.
func (w *Withdrawal) Covers(c *weir.Contact) bool {
	purposes := w.refused[Canonical(c.To)]
	if len(purposes) == 0 || c.Owner.Confirms() != 0 {
		return false
	}
	name := c.Purpose
	if name == "" {
		name = DefaultPurpose
	}
	return !slices.Contains(w.exempt, name) && (slices.Contains(purposes, AllPurposes) || slices.Contains(purposes, name))
}
