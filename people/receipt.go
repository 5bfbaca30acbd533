package people

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/api"
)

// Sentence is one clause of a receipt in English, with the names of its fields in braces. It is its own key in the catalogs
// of other languages. The values are names and numbers, cap is a [Cap.Text], and exempt is in the words of an operator.
type Sentence string

// What a receipt says, in this order.
const (
	TextPurpose     Sentence = "purpose {purpose}"
	TextNoRefusal   Sentence = "no refusal recorded"
	TextConfirms    Sentence = "confirms the refusal, record {record}"
	TextRefused     Sentence = "refused, record {record}"
	TextConsent     Sentence = "consent as of record {record}"
	TextExempt      Sentence = "exempt: {exempt}"
	TextLocal       Sentence = "{time} in {zone}"
	TextLocalOneOf  Sentence = "{time} in {zone} or one of {more} more zones"
	TextLeft        Sentence = "cap {cap}: {left} left"
	TextCost        Sentence = "cost {cost} {currency}"
	TextReservation Sentence = "{cost} {currency} reserved"
)

// Clauses returns the facts of a claim as clauses, for programs that show them in another language.
func (f *Facts) Clauses(claimedAt time.Time) []api.Clause {
	list := []api.Clause{clause(TextPurpose, "purpose", f.Purpose)}
	record := strconv.FormatInt(f.Consent, 10)
	switch {
	case f.Consent == 0:
		list = append(list, clause(TextNoRefusal))
	case f.Confirms:
		list = append(list, clause(TextConfirms, "record", record))
	case f.Refused:
		list = append(list, clause(TextRefused, "record", record))
	default:
		list = append(list, clause(TextConsent, "record", record))
	}
	if f.Exempt != "" {
		list = append(list, clause(TextExempt, "exempt", f.Exempt))
	}
	if local := f.Local(claimedAt); !local.IsZero() {
		clock := local.Format("15:04")
		if f.More > 0 {
			list = append(list, clause(TextLocalOneOf, "time", clock, "zone", f.Zone, "more", strconv.Itoa(f.More)))
		} else {
			list = append(list, clause(TextLocal, "time", clock, "zone", f.Zone))
		}
	}
	for _, l := range f.Left {
		list = append(list, clause(TextLeft, "cap", l.Cap, "left", strconv.Itoa(l.N)))
	}
	switch {
	case f.Currency != "" && f.Settled:
		list = append(list, clause(TextCost, "cost", f.Cost.String(), "currency", f.Currency))
	case f.Currency != "":
		list = append(list, clause(TextReservation, "cost", f.Cost.String(), "currency", f.Currency))
	}
	return list
}

// clause returns a clause with names and values of its fields in turn.
func clause(s Sentence, fields ...string) api.Clause {
	c := api.Clause{Sentence: string(s)}
	for i := 0; i+1 < len(fields); i += 2 {
		if c.Fields == nil {
			c.Fields = map[string]string{}
		}
		c.Fields[fields[i]] = fields[i+1]
	}
	return c
}

// Text returns the facts of a claim in one sentence.
func (f *Facts) Text(claimedAt time.Time) string {
	clauses := f.Clauses(claimedAt)
	parts := make([]string, len(clauses))
	for i := range clauses {
		c := &clauses[i]
		parts[i] = c.Fill(c.Sentence, func(name string) string { return c.Fields[name] })
	}
	return strings.Join(parts, "; ")
}

// Zones returns the zones in which the person may live, in words.
func (f *Facts) Zones() string {
	if f.More > 0 {
		return fmt.Sprintf("%s or one of %d more zones", f.Zone, f.More)
	}
	return f.Zone
}

// Local returns an instant in the person's zone, the first of several; zero: it did not matter.
func (f *Facts) Local(at time.Time) time.Time {
	zone, err := time.LoadLocation(f.Zone)
	if f.Zone == "" || err != nil {
		return time.Time{}
	}
	return at.In(zone)
}
