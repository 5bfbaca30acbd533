package surveys

import "slices"

// Status is the state of a respondent in Weir; [Disposition] is the progress of
// the conversation.
type Status string

// The statuses. All but pending and active are final.
const (
	Pending   Status = "pending"   // not started
	Active    Status = "active"    // being contacted
	Completed Status = "completed" // the conversation came to its end
	Failed    Status = "failed"    // all attempts were made, or the respondent wants no more
	Rejected  Status = "rejected"  // not needed: the quota is full
	Canceled  Status = "canceled"  // the survey was stopped
)

// Statuses returns every status.
func Statuses() []Status {
	return []Status{Pending, Active, Completed, Failed, Rejected, Canceled}
}

// Final reports whether no other status follows.
func (s Status) Final() bool { return s != Pending && s != Active }

// Disposition is the progress of the conversation with a respondent.
type Disposition string

// The dispositions.
const (
	Registered     Disposition = "registered"
	Queued         Disposition = "queued"          // a contact is queued or in flight
	Contacted      Disposition = "contacted"       // reached, has not answered
	Started        Disposition = "started"         // has answered
	InterimPartial Disposition = "interim partial" // has answered enough to count as partial
	Complete       Disposition = "completed"
	Partial        Disposition = "partial"
	Breakoff       Disposition = "breakoff"
	Unresponsive   Disposition = "unresponsive"
	Ineligible     Disposition = "ineligible"
	RejectedQuota  Disposition = "rejected"
	Refused        Disposition = "refused"
	Unreached      Disposition = "failed"
)

// Dispositions returns every disposition.
func Dispositions() []Disposition {
	return []Disposition{
		Registered, Queued, Contacted, Started, InterimPartial, Complete, Partial,
		Breakoff, Unresponsive, Ineligible, RejectedQuota, Refused, Unreached,
	}
}

// Funnel returns the steps that respondents come to, in order. Whoever comes to one has come to
// those before it.
func Funnel() []Disposition {
	return []Disposition{Registered, Queued, Contacted, Started, InterimPartial, Complete}
}

// step returns the last step of the funnel that a respondent of this disposition has certainly
// come to. Those who refuse, or are rejected or given up, may have been at any step.
func (d Disposition) step() Disposition {
	switch d {
	case Unresponsive:
		return Contacted
	case Breakoff, Ineligible:
		return Started
	case Partial:
		return InterimPartial
	case RejectedQuota, Refused, Unreached:
		return Registered
	default:
		return d
	}
}

// atLeast reports whether a step of the funnel is another one, or comes after it.
func (d Disposition) atLeast(step Disposition) bool {
	steps := Funnel()
	return slices.Index(steps, d) >= slices.Index(steps, step)
}

// Final reports whether no other disposition follows.
func (d Disposition) Final() bool { return len(d.next()) == 0 }

// next returns the dispositions that may follow directly.
func (d Disposition) next() []Disposition {
	switch d {
	case Registered:
		return []Disposition{Queued}
	case Queued:
		return []Disposition{Contacted, Unreached}
	case Contacted:
		return []Disposition{Started, Unresponsive}
	case Started:
		return []Disposition{InterimPartial, Complete, Breakoff, Ineligible, RejectedQuota, Refused}
	case InterimPartial:
		return []Disposition{Complete, Partial, RejectedQuota}
	default:
		return nil
	}
}

// CanBecome reports whether e may follow d, directly or through others: a respondent
// who completes has also been contacted, even if that was never reported. A
// disposition leads to itself.
func (d Disposition) CanBecome(e Disposition) bool {
	return d == e || slices.ContainsFunc(d.next(), func(n Disposition) bool { return n.CanBecome(e) })
}

// Advance returns e if it may follow d, otherwise d, so that late and repeated
// reports revert nothing.
func (d Disposition) Advance(e Disposition) Disposition {
	if d.CanBecome(e) {
		return e
	}
	return d
}

// GivenUp returns the final disposition of a respondent that is not contacted any
// more.
func (d Disposition) GivenUp() Disposition {
	switch d {
	case Registered, Queued:
		return Unreached
	case Contacted:
		return Unresponsive
	case Started:
		return Breakoff
	case InterimPartial:
		return Partial
	default:
		return d
	}
}

// OptedOut returns the disposition of a respondent who asked not to be contacted.
func (d Disposition) OptedOut() Disposition {
	if d == Registered || d == Queued || d == Contacted {
		return Refused
	}
	return d.GivenUp()
}

// Counts reports whether respondents of this disposition count toward the cutoff
// and the quotas. With partial set, partial ones count too.
func (d Disposition) Counts(partial bool) bool {
	return d == Complete || partial && (d == Partial || d == InterimPartial)
}

// Reportable reports whether an application that holds the conversation may set
// the disposition. The others follow from the results of contacts.
func (d Disposition) Reportable() bool {
	return slices.Contains([]Disposition{Contacted, Started, InterimPartial, Complete, Partial, Breakoff, Ineligible, RejectedQuota, Refused}, d)
}

// status returns the status of a respondent whose disposition became final by a
// report of the application.
func (d Disposition) status() Status {
	switch d {
	case Complete, Partial, Ineligible, Refused:
		return Completed
	case RejectedQuota:
		return Rejected
	case Breakoff, Unresponsive, Unreached:
		return Failed
	default:
		return Active
	}
}
