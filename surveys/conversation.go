package surveys

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"weir"
	"weir/people"
	"weir/surveys/respondents"
)

// IsOptOut reports whether a message consists of a stop word alone; case, accents, spaces
// and punctuation do not count. Respondents send one to ask not to be contacted.
func (pl *Plan) IsOptOut(message string) bool {
	says, _ := pl.Words().Find(message)
	return says == people.SaidStop
}

// Words returns the words by which messages of the survey's respondents are judged.
func (pl *Plan) Words() *people.Words {
	if pl.words == nil {
		return people.DefaultWords()
	}
	return pl.words
}

// trimPunctuation returns a text without surrounding space and punctuation, and with runs
// of inner space replaced by a single space.
func trimPunctuation(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.Is(unicode.Cf, r) })
	return strings.Join(strings.Fields(s), " ")
}

// Replied records that a respondent answered, in any mode. disposition is the
// result reported by the application that holds the conversation; empty if only
// the answer is known, which starts the conversation. serial is the serial of the
// contact in which it happened, 0 if not known.
//
// A waiting retry is canceled and the timeout starts again, because a respondent
// who answers must not be contacted again at once. Repeated and late reports
// change nothing.
func (pl *Plan) Replied(p Progress, now time.Time, serial int, d Disposition) (Progress, Effects, error) {
	if d == "" {
		d = Started
	}
	switch {
	case p.Status.Final() && d == p.Disposition:
		return p, Effects{}, nil
	case p.Status.Final():
		return p, Effects{}, ErrFinal
	case !d.Reportable(), d.Final() && !p.Disposition.CanBecome(d):
		return p, Effects{}, ErrDisposition
	}
	p = pl.provenBy(p, serial)
	if d.Final() {
		p, e := pl.conclude(p, d)
		return p, e, nil
	}
	p.Disposition = p.Disposition.Advance(d)
	if p.Status == Pending { // it is started as if it had not answered
		return pl.count(p), Effects{}, nil
	}
	p, e := pl.cancelWaiting(p)
	p.DueAt = pl.nextStepAt(p, now)
	return pl.count(p), e, nil
}

// OptOut ends a respondent who asked not to be contacted any more.
func (pl *Plan) OptOut(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	p.OptedOut = true
	return pl.finish(p, Failed, p.Disposition.OptedOut())
}

// Reject ends a respondent who is not needed because the bucket is full.
func (pl *Plan) Reject(p Progress) (Progress, Effects, error) {
	switch {
	case p.Status == Rejected:
		return p, Effects{}, nil
	case p.Status.Final():
		return p, Effects{}, ErrFinal
	case !p.Disposition.CanBecome(RejectedQuota):
		return p, Effects{}, ErrDisposition
	}
	p.Counted = false // an interim partial without a bucket may have counted
	p, e := pl.finish(p, Rejected, RejectedQuota)
	return p, e, nil
}

// Cancel ends a respondent because its survey ends. It keeps the disposition.
// The contact is canceled even at the provider, as far as that is possible.
func (pl *Plan) Cancel(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	open := p.Contact != Idle
	p, e := pl.finish(p, Canceled, p.Disposition)
	if open {
		e.Cancel, e.CancelInFlight = p.Serial, true
	}
	return p, e
}

// Bounds of the delay of a respondent whose step failed.
const (
	minDelay       = 30 * time.Second
	maxDelay       = time.Hour
	maxFailedSteps = 12 // about 6 hours in all
)

// DeferFailed delays a respondent whose step failed for a reason of its own, so that
// it does not hold up others. The delay doubles each time from 30 s up to an hour,
// with a jitter of a quarter either way by a random u in [0,1). After 12 delays in
// a row, about 6 hours, the respondent is given up. Callers must not use it for
// faults of the store or of a channel.
func (pl *Plan) DeferFailed(p Progress, now time.Time, u float64) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	if p.FailedSteps++; p.FailedSteps > maxFailedSteps {
		return pl.giveUp(p)
	}
	delay := min(maxDelay, minDelay<<(p.FailedSteps-1))
	until := now.Add(time.Duration(float64(delay) * (0.75 + u/2)))
	if p.Status == Pending {
		p.DelayedUntil = until
	} else {
		p.DueAt = until
	}
	return p, Effects{}
}

// Report is an application's report about its conversation with a respondent.
type Report struct {
	// Serial is the serial of the contact in which it happened; 0 if not known.
	Serial int
	// Disposition is the application's result of the conversation. Empty: the
	// respondent has answered, nothing more is known.
	Disposition Disposition
	// Answers, as [respondents.Attributes] returns them, are merged into the
	// respondent's attributes. They may assign the respondent to a quota bucket; if that
	// is full, the respondent is rejected.
	Answers map[string]string
	// Messages are sent to the respondent with priority reply, over the channel
	// of the latest contact by text. Key makes the report idempotent.
	Messages []string
	Key      string
	// Stop is set if the respondent asked not to be contacted any more.
	Stop bool
}

// MergeAnswers returns the attributes of a respondent with the answers merged in. Answers
// are attributes that [respondents.Attributes] has checked; it leaves out empty ones, so
// that they change nothing.
func MergeAnswers(attributes, answers map[string]string) (map[string]string, []weir.FieldError) {
	if len(answers) == 0 {
		return attributes, nil
	}
	out := make(map[string]string, len(attributes)+len(answers))
	maps.Copy(out, attributes)
	maps.Copy(out, answers)
	if len(out) > respondents.MaxAttributes {
		return attributes, []weir.FieldError{{Pointer: "/answers", Code: "length", Detail: "the respondent would have too many attributes"}}
	}
	return out, nil
}

// QuotaMessage returns the message to a respondent whose quota turned out to be
// full; empty: there is none.
func (pl *Plan) QuotaMessage(survey string, person Person, p Progress) string {
	return pl.fillMessage(pl.quotaMessage, survey, person, p)
}

// invisible reports whether a rune shows nothing.
func invisible(r rune) bool {
	return r == '\u2800' || unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Answered returns the report of a survey that evaluates the answers itself about a message of
// a respondent; ok is false if the message is none, as if it shows nothing or is a reaction to the
// question, or if the survey does not evaluate answers. The first message to a question completes the respondent. Calling it again for
// the same message, or for a later one, changes no answer, and sends thanks only if they
// were not sent.
func (pl *Plan) Answered(survey string, person Person, p Progress, message string) (_ Report, ok bool) {
	answer := []rune(strings.TrimSpace(message))
	if says, _ := pl.Words().Find(message); pl.answer == "" || strings.TrimFunc(message, invisible) == "" || people.IsReaction(message) || says != "" && says != people.SaidMaybe {
		return Report{}, false
	}
	report := Report{Disposition: Complete, Key: "thanks"}
	switch {
	case p.Status == Active:
		report.Answers = map[string]string{pl.answer: strings.TrimSpace(string(answer[:min(len(answer), respondents.MaxAttribute)]))}
		person.Attributes, _ = MergeAnswers(person.Attributes, report.Answers)
	case p.Disposition != Complete:
		return Report{}, false // not asked yet, or over for another reason
	}
	if text := pl.fillMessage(pl.thanks, survey, person, p); text != "" {
		report.Messages = []string{text}
	}
	return report, true
}

// AnswerNames returns the names under which quotas find what respondents answer: the attribute that the
// answers become, or the questions.
func (pl *Plan) AnswerNames() []string {
	switch {
	case pl.Questions != nil:
		return pl.Questions.Recorded()
	case pl.answer != "":
		return []string{pl.answer}
	default:
		return nil
	}
}

// fillMessage returns a message to a respondent in a conversation; empty: there is none.
func (pl *Plan) fillMessage(t text, survey string, person Person, p Progress) string {
	mode := pl.Mode(p)
	message := []rune(t.fill(person.values(survey, mode, p.Attempts.of(mode)), asIs))
	return string(message[:min(len(message), maxMessage)])
}

// WithholdsMessages reports whether the messages of h must not be sent: the application
// wrote them for a conversation that has ended because the quota is full. An
// application that reports the rejection itself may say goodbye.
func (h Report) WithholdsMessages(p Progress) bool {
	return p.Status == Rejected && h.Disposition != RejectedQuota
}

// Assign returns the bucket of a respondent after answers. A respondent that counts in
// a bucket stays there. One that was counted before its bucket was known is moved into
// it, even after the end.
func (pl *Plan) Assign(r *Respondent, attributes map[string]string) int {
	if r.Counted && r.Bucket != NoBucket || !r.Counted && r.Status.Final() {
		return r.Bucket
	}
	return pl.Quotas.Of(attributes)
}

// Sender is a respondent with the number that sent a message. Respondents of
// several surveys may have the same number.
type Sender struct {
	Status       Status
	LastChannel  string    // channel of the latest contact; empty if there was none
	LastAccepted time.Time // when the provider accepted that contact
	Channels     []string  // channels that the survey uses
}

// FindSender returns the index of the respondent to which a message on a channel
// is routed, or -1 if no candidate's survey uses the channel. Active respondents
// precede pending ones, and those precede final ones; then the respondents whose
// latest contact used the channel precede the others; then the newest contact
// wins, and the first of equals.
func FindSender(channel string, candidates []Sender) int {
	best := -1
	for i, c := range candidates {
		if slices.Contains(c.Channels, channel) && (best < 0 || c.before(candidates[best], channel)) {
			best = i
		}
	}
	return best
}

func (c Sender) before(d Sender, channel string) bool {
	if a, b := c.rank(), d.rank(); a != b {
		return a > b
	}
	if a, b := c.LastChannel == channel, d.LastChannel == channel; a != b {
		return a
	}
	return c.LastAccepted.After(d.LastAccepted)
}

// rank is -1 for a final status.
func (c Sender) rank() int { return slices.Index([]Status{Pending, Active}, c.Status) }
