package surveys

import (
	"maps"
	"time"

	"weir"
	"weir/surveys/respondents"
)

// Correction changes a respondent that was not contacted yet.
type Correction struct {
	ID         RespondentID
	Phone      string            // E.164; empty: unchanged
	Attributes map[string]string // merged into the respondent's
	Without    []string          // names of attributes to remove
}

// Corrected is the result of a [Correction].
type Corrected struct {
	Respondent Respondent
	Changed    bool
	// Err is why the respondent was not changed: [weir.CodeNotFound], or
	// [weir.CodeConflict] if it was contacted, is finished, or another respondent
	// has the number.
	Err error
}

// Apply returns a corrected respondent. A respondent that was given up because its
// contact could not be built becomes pending again. The bucket follows from the quotas.
func (c Correction) Apply(was Respondent, quotas Quotas) (_ Respondent, changed bool, _ error) {
	givenUp := was.Status == Failed && was.Disposition == Unreached
	switch {
	case was.Contact != (weir.Ref{}):
		return was, false, weir.Errorf(weir.CodeConflict, "respondent %s was contacted already and can no longer be changed; stop or remove it", was.ID)
	case was.Status.Final() && !givenUp:
		return was, false, weir.Errorf(weir.CodeConflict, "respondent %s is finished (%s, %s) and can no longer be changed", was.ID, was.Status, was.Disposition)
	}
	is := was
	is.Attributes = maps.Clone(was.Attributes)
	if is.Attributes == nil {
		is.Attributes = map[string]string{}
	}
	maps.Copy(is.Attributes, c.Attributes)
	for _, name := range c.Without {
		delete(is.Attributes, name)
	}
	if len(is.Attributes) > respondents.MaxAttributes {
		return was, false, weir.Errorf(weir.CodeInvalid, "respondent %s would have more than %d attributes", was.ID, respondents.MaxAttributes)
	}
	if c.Phone != "" {
		is.Phone = c.Phone
	}
	if is.Phone == was.Phone && maps.Equal(is.Attributes, was.Attributes) {
		return was, false, nil
	}
	is.Rev++
	is.Bucket = quotas.Of(is.Attributes)
	switch {
	case givenUp:
		is.Progress, is.Started, is.Finished = NewProgress(), time.Time{}, time.Time{}
		is.Serial, is.Totals = was.Serial, was.Totals // the serial is part of the keys of contacts
	case is.FailedSteps > 0: // the delay was for what is corrected now
		is.FailedSteps, is.DelayedUntil = 0, time.Time{}
		if is.Status == Active {
			is.DueAt = is.Added // at once
		}
	}
	return is, true, nil
}

// CheckRemovable returns why a respondent cannot be removed now: a contact of it is
// open, whose outcome would be lost.
func (r *Respondent) CheckRemovable() error {
	switch r.Progress.Contact {
	case Idle:
		return nil
	case Canceling:
		return weir.Errorf(weir.CodeConflict, "a contact of respondent %s is being canceled; remove the respondent when it has ended", r.ID)
	default:
		return weir.Errorf(weir.CodeConflict, "respondent %s has a contact that is queued or in flight; stop the respondent first", r.ID)
	}
}
