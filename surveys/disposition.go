package surveys

import "slices"

// Status is where a respondent stands with Weir; [Disposition] is how far the
// conversation came.
type Status string

// The statuses. All but pending and active are final.
const (
	Pending   Status = "pending"   // not started
	Active    Status = "active"    // being contacted
	Completed Status = "completed" // the conversation came to its end
	Failed    Status = "failed"    // every attempt was made, or the respondent wants no more
	Rejected  Status = "rejected"  // not needed: the quota is full
	Canceled  Status = "canceled"  // the survey was stopped
)

// Statuses lists every status.
func Statuses() []Status {
	return []Status{Pending, Active, Completed, Failed, Rejected, Canceled}
}

// Final tells whether nothing follows.
func (s Status) Final() bool { return s != Pending && s != Active }

// Disposition is how far the conversation with a respondent came.
type Disposition string

// The dispositions.
const (
	Registered     Disposition = "registered"
	Queued         Disposition = "queued"          // a contact is on its way
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

// Dispositions lists every disposition.
func Dispositions() []Disposition {
	return []Disposition{
		Registered, Queued, Contacted, Started, InterimPartial, Complete, Partial,
		Breakoff, Unresponsive, Ineligible, RejectedQuota, Refused, Unreached,
	}
}

// Final tells whether no other disposition follows.
func (d Disposition) Final() bool { return len(d.next()) == 0 }

// next are the dispositions that may follow at once.
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

// Leads tells whether e may follow d, at once or over others: who completes has
// also been contacted, even if that was never reported. A disposition leads to
// itself.
func (d Disposition) Leads(e Disposition) bool {
	return d == e || slices.ContainsFunc(d.next(), func(n Disposition) bool { return n.Leads(e) })
}

// Toward is e if it may follow d, else d: reports that come late or twice take
// nothing back.
func (d Disposition) Toward(e Disposition) Disposition {
	if d.Leads(e) {
		return e
	}
	return d
}

// GivenUp is the disposition of a respondent whom nobody tries to reach any
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

// Stopped is the disposition of a respondent who asked not to be contacted.
func (d Disposition) Stopped() Disposition {
	switch d {
	case Started:
		return Breakoff
	case InterimPartial:
		return Partial
	case Registered, Queued, Contacted:
		return Refused
	default:
		return d
	}
}

// Counts tells whether respondents of this disposition count towards the cut-off
// and the quotas.
func (d Disposition) Counts(partial bool) bool {
	return d == Complete || partial && (d == Partial || d == InterimPartial)
}

// Reportable tells whether an application that holds the conversation may set
// it. The others follow from what happens to contacts.
func (d Disposition) Reportable() bool {
	switch d {
	case Contacted, Started, InterimPartial, Complete, Partial, Breakoff, Ineligible, RejectedQuota, Refused:
		return true
	default:
		return false
	}
}

// status is the status of a respondent whose disposition has become final
// because the application said so.
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
