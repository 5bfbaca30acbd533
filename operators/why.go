package operators

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
)

// Why explains why something waits: a stable code for programs and the clauses of one sentence
// for people. The zero Why means that nothing waits. The code that decides to
// wait also returns the Why, so that the two cannot disagree.
type Why struct {
	Code    WhyCode
	Clauses []api.Clause
}

// NewClause returns a clause of a [Sentence], as package api has it. fields are names and values in turn, as package slog takes them.
func NewClause(s Sentence, fields ...any) api.Clause {
	c := api.Clause{Sentence: string(s)}
	for i := 0; i+1 < len(fields); i += 2 {
		if c.Fields == nil {
			c.Fields = map[string]string{}
		}
		name, _ := fields[i].(string)
		switch v := fields[i+1].(type) {
		case time.Time:
			c.Fields[name] = v.UTC().Format(time.RFC3339)
		default:
			c.Fields[name] = fmt.Sprint(v)
		}
	}
	return c
}

// NewWhy returns a Why of one clause.
func NewWhy(code WhyCode, s Sentence, fields ...any) Why {
	return Why{code, []api.Clause{NewClause(s, fields...)}}
}

// ReasonClause returns the clause of a text that somebody else wrote; empty: none.
func ReasonClause(text string) []api.Clause {
	if text == "" {
		return nil
	}
	return []api.Clause{NewClause(TextReason, "reason", text)}
}

// Text returns the sentence in English.
func (w Why) Text() string {
	return JoinClauses(w.Clauses, func(c *api.Clause) string {
		return c.Fill(c.Sentence, func(name string) string {
			if at, ok := c.Instant(name); ok {
				return WhyAt(at)
			}
			return c.Fields[name]
		})
	})
}

// View returns the reason as the API shows it.
func (w Why) View() api.WhyView {
	return api.WhyView{Why: w.Text(), WhyCode: string(w.Code), WhyInstants: w.Instants(), WhyClauses: w.Clauses}
}

// JoinClauses returns the sentence of some clauses. One that ends with a colon introduces the next.
func JoinClauses(clauses []api.Clause, text func(*api.Clause) string) string {
	var b strings.Builder
	for i := range clauses {
		switch {
		case i == 0:
		case strings.HasSuffix(clauses[i-1].Sentence, ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(text(&clauses[i]))
	}
	return b.String()
}

// WhyCode classifies the reason.
type WhyCode string

// The codes of contacts, and of channels that start none.
const (
	WhyNotBefore       WhyCode = "not_before"       // its window has not opened
	WhyRetry           WhyCode = "retry"            // its next attempt is due later
	WhyPerson          WhyCode = "person"           // a rule for the sake of the person: quiet hours, a holiday, a cap
	WhyLimit           WhyCode = "limit"            // a limit that its channel shares has no room
	WhyPaused          WhyCode = "channel_paused"   // by a user
	WhyBraked          WhyCode = "braked"           // a channel or survey that paused itself
	WhyDeleting        WhyCode = "channel_deleting" // the channel is being deleted
	WhyStopping        WhyCode = "stopping"         // the process that runs the channel is shutting down
	WhyPreparing       WhyCode = "channel_preparing"
	WhyError           WhyCode = "channel_error"    // the provider cannot be set up
	WhyFaulted         WhyCode = "channel_faulted"  // it failed repeatedly; retried at most once a minute
	WhyFailing         WhyCode = "provider_failing" // the circuit breaker is open
	WhyProbing         WhyCode = "provider_probe"   // a single dispatch probes the provider
	WhyProviderPause   WhyCode = "provider_pause"   // the provider asked for it (Retry-After)
	WhySendConcurrency WhyCode = "send_concurrency" // too many dispatches at one time
	WhyTooLarge        WhyCode = "too_large"        // larger than the channel's capacity
	WhyCapacity        WhyCode = "capacity"         // not enough free slots
	WhyReplyReserve    WhyCode = "reply_reserve"    // the free slots are reserved for replies
	WhyTurn            WhyCode = "turn"             // others are served first
	WhyDispatching     WhyCode = "dispatching"      // the provider is being called
	WhyReport          WhyCode = "report"           // waiting for the provider's report
	WhyUnknown         WhyCode = "unknown"          // the result of the dispatch was lost
	WhyCanceling       WhyCode = "canceling"        // the provider is asked to cancel it
	WhyDown            WhyCode = "channel_down"     // the provider reports that it cannot work
	WhyRate            WhyCode = "rate_limit"       // the channel's rate limit; also a survey's limit per minute
)

// The codes of surveys and respondents, in addition to those of their channels
// and contacts.
const (
	WhyDraft             WhyCode = "draft"           // it was never launched
	WhySurveyPaused      WhyCode = "survey_paused"   // by a user
	WhySurveyStopping    WhyCode = "survey_stopping" // its respondents are being canceled
	WhyBroken            WhyCode = "survey_broken"   // its definition cannot be run, or its rules failed
	WhyWindow            WhyCode = "window"          // its schedule is closed
	WhyTarget            WhyCode = "target_reached"  // the cutoff or every quota
	WhyBudget            WhyCode = "budget_spent"    // what is left of the survey's budget pays for no contact
	WhyBatch             WhyCode = "batch"           // the max number of respondents is active
	WhyActive            WhyCode = "active"          // no respondent is left to start
	WhyChannelGone       WhyCode = "channel_gone"
	WhyChannelUnsuitable WhyCode = "channel_unfit" // it does not support what the mode needs
	WhyDelayed           WhyCode = "aside"         // delayed until due
	WhyQuota             WhyCode = "quota_full"    // the respondent's bucket is full
	WhyAnswer            WhyCode = "answer"        // waiting for an answer; nothing is left to try
)

// stalledAfter is how long nothing moves before a limit that paces contacts is an
// alarm.
const stalledAfter = time.Minute

// Headline returns the words under which a page shows why something waits, and
// whether that is an alarm. idle is since when nothing has moved; zero: that is not
// known. A limit that only paces contacts is an alarm once nothing moves.
func (c WhyCode) Headline(idle, now time.Time) (text string, alarm bool) {
	switch c {
	case WhyError, WhyFaulted, WhyFailing, WhyDown, WhyTooLarge, WhyBroken, WhyChannelGone, WhyChannelUnsuitable:
		return "Stopped by a problem", true
	case WhyBraked:
		return "Paused itself", true
	case WhyPaused, WhySurveyPaused:
		return "Paused", false
	case WhyDraft:
		return "Not launched", false
	case WhyDeleting, WhyStopping, WhySurveyStopping, WhyCanceling:
		return "Stopping", false
	case WhyNotBefore, WhyRetry, WhyWindow, WhyDelayed, WhyProviderPause, WhyPerson:
		return "Scheduled", false
	case WhyReport, WhyUnknown, WhyAnswer, WhyActive, WhyDispatching:
		return "In progress", false
	case WhyBudget:
		return "Budget spent", false
	case WhyTarget, WhyQuota:
		return "Target reached", false
	case WhyBatch: // its respondents may take hours to answer
		return "Pacing", false
	case WhyCapacity, WhyReplyReserve: // calls may hold every slot for longer than any limit; lost ones are settled
		return "At capacity", false
	case WhyPreparing, WhyProbing, WhySendConcurrency, WhyTurn, WhyRate, WhyLimit: // these pass quickly while contacts move
	}
	if !idle.IsZero() && now.Sub(idle) >= stalledAfter {
		return "Nothing has moved for a minute", true
	}
	return "Pacing", false
}

// IsZero reports whether nothing waits.
func (w Why) IsZero() bool { return w.Code == "" }

// And returns w with clauses appended to the sentence.
func (w Why) And(clauses ...api.Clause) Why {
	w.Clauses = append(slices.Clip(w.Clauses), clauses...)
	return w
}

// BlockedBy returns why a channel starts no contacts, regardless of its provider;
// empty if it may start them.
func BlockedBy(c *weir.Channel) WhyCode {
	switch {
	case c.Deleting, c.Deleted:
		return WhyDeleting
	case c.Paused && c.Braked != nil && !c.Held:
		return WhyBraked
	case c.Held, c.Paused:
		return WhyPaused
	default:
		return ""
	}
}

// WhyBlocked returns the explanation of [BlockedBy].
func WhyBlocked(c *weir.Channel) Why {
	code := BlockedBy(c)
	switch {
	case code == "":
		return Why{}
	case code == WhyDeleting:
		return NewWhy(code, TextDeleting, "channel", c.Name)
	case c.Held:
		return NewWhy(code, TextHeld)
	case code == WhyBraked:
		return Why{code, []api.Clause{brakedClause(c.Braked, TextChannelOptedOut, TextChannelFailed, TextChannelReason, "channel", c.Name)}}
	default:
		return NewWhy(code, TextPaused, "channel", c.Name)
	}
}

// WhySurveyBraked explains that a survey has paused itself.
func WhySurveyBraked(b *weir.Braked) Why {
	return Why{WhyBraked, []api.Clause{brakedClause(b, TextSurveyOptedOut, TextSurveyFailed, TextSurveyReason)}}
}

func brakedClause(b *weir.Braked, optedOut, failed, reason Sentence, fields ...any) api.Clause {
	s := failed
	switch b.Cause {
	case weir.BrakeOptedOut:
		s = optedOut
	case weir.BrakeReason:
		s, fields = reason, append(fields, "reason", b.Reason)
	case weir.BrakeFailed:
	}
	return NewClause(s, append(fields, "count", b.Count, "of", b.Of, "percent", b.Percent)...)
}

// whyAt is the form of instants in sentences.
const whyAt = "2006-01-02 15:04:05 UTC"

// WhyAt formats an instant for the sentence of a [Why].
func WhyAt(t time.Time) string { return t.UTC().Format(whyAt) }

// Instants returns the instants of the sentence, in its order.
func (w Why) Instants() (list []time.Time) {
	for _, p := range Parts(w.Text()) {
		if !p.At.IsZero() {
			list = append(list, p.At)
		}
	}
	return list
}

// Part is a part of a sentence: text, or an instant if At is not zero.
type Part struct {
	Text string
	At   time.Time
}

// Parts splits the sentence of a [Why] at the instants that [WhyAt] wrote, so that a
// page can show them in the reader's zone.
func Parts(sentence string) (list []Part) {
	for from := 0; ; {
		end := strings.Index(sentence[from:], " UTC")
		if end < 0 {
			break
		}
		end += from + len(" UTC")
		from = end
		if end < len(whyAt) {
			continue
		}
		at, err := time.Parse(whyAt, sentence[end-len(whyAt):end])
		if err != nil {
			continue
		}
		if before := sentence[:end-len(whyAt)]; before != "" {
			list = append(list, Part{Text: before})
		}
		list = append(list, Part{Text: sentence[end-len(whyAt) : end], At: at})
		sentence, from = sentence[end:], 0
	}
	if sentence != "" {
		list = append(list, Part{Text: sentence})
	}
	return list
}
