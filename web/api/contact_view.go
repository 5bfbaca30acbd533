package api

import (
	"slices"
	"time"

	"weir"
	"weir/internal/segments"
	"weir/ops"
	"weir/web/auth"
	"weir/web/wire"
)

// ContactView is a contact in a response.
type ContactView struct {
	ID          string            `json:"id"`
	Channel     string            `json:"channel"`
	Key         string            `json:"key,omitempty"`
	To          string            `json:"to"`
	Priority    string            `json:"priority" enum:"normal,high,reply"`
	Survey      string            `json:"survey,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Messages    []string          `json:"messages,omitempty"`
	Call        *weir.Call        `json:"call,omitempty"`
	NotBefore   *time.Time        `json:"not_before,omitempty"`
	NotAfter    *time.Time        `json:"not_after,omitempty"`
	Size        int               `json:"size" doc:"slots that it takes while it is in flight"`
	Segments    int               `json:"segments,omitempty" doc:"segments of its texts, as networks send and bill them; rate_per_second of a channel counts them"`
	State       string            `json:"state" enum:"queued,sending,active,unknown,done"`
	Canceling   bool              `json:"canceling,omitempty" doc:"cancellation was requested while it was in flight"`
	Outcome     weir.Outcome      `json:"outcome,omitempty" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter"`
	Reason      string            `json:"reason,omitempty"`
	Why         string            `json:"why,omitempty" doc:"why it waits now, in one sentence for people; absent when it is done" example:"channel texts: 4 of 4 slots in use; 12 of higher priority ahead"`
	WhyCode     ops.WhyCode       `json:"why_code,omitempty" doc:"the same as a stable code for programs; there may be more codes in later versions" example:"capacity"`
	WhyInstants []time.Time       `json:"why_instants,omitempty" doc:"the instants in why, in the order of the sentence"`
	QueuedAt    time.Time         `json:"queued_at" doc:"when it was accepted"`
	FinishedAt  *time.Time        `json:"finished_at,omitempty"`
	Attempts    []AttemptView     `json:"attempts" doc:"oldest first; a list of contacts has only the latest"`
}

// AttemptView is one attempt to dispatch a contact to the provider.
type AttemptView struct {
	ID          string       `json:"id"`
	Number      int          `json:"number"`
	ClaimedAt   *time.Time   `json:"claimed_at,omitempty"`
	SentAt      *time.Time   `json:"sent_at,omitempty" doc:"when the provider took it"`
	ProviderRef string       `json:"provider_ref,omitempty" doc:"the provider's id of the message"`
	LastHeardAt *time.Time   `json:"last_heard_at,omitempty"`
	FinishedAt  *time.Time   `json:"finished_at,omitempty"`
	Outcome     weir.Outcome `json:"outcome,omitempty" doc:"empty when the contact went back to the queue"`
	Reason      string       `json:"reason,omitempty"`
}

// ContactList is one page of contacts. A page may be short; only a missing
// cursor marks the last one.
type ContactList struct {
	Contacts   []ContactView `json:"contacts"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page; a page before may have few contacts or none"`
}

func contactView(c *weir.Contact, channel string, attempts []AttemptView) ContactView {
	return ContactView{
		ID: c.Ref.String(), Channel: channel, Key: c.Key, To: c.To, Priority: priorityWord(c.Priority),
		Survey: c.Survey, Labels: c.Labels, Messages: c.Messages, Call: c.Call,
		NotBefore: wire.Instant(c.NotBefore), NotAfter: wire.Instant(c.NotAfter), Size: c.Size(), Segments: segments.Total(c.Messages),
		State: c.State.String(), Canceling: c.CancelRequested && c.State.InFlight(),
		Outcome: c.Outcome, Reason: c.Reason, QueuedAt: c.QueuedAt.UTC(), FinishedAt: wire.Instant(c.FinishedAt),
		Attempts: attempts,
	}
}

// attemptViews returns the ended attempts and, unless it is among them or the
// contact is back in the queue, the current one.
func attemptViews(c *weir.Contact, ended []weir.Attempt) []AttemptView {
	views := make([]AttemptView, 0, len(ended)+1)
	last := 0
	for _, a := range ended {
		views = append(views, attemptView(c.Ref, a))
		last = max(last, a.Number)
	}
	if now := c.Current(); now.Number > last && !c.State.Waiting() {
		views = append(views, attemptView(c.Ref, now))
	}
	return views
}

func attemptView(ref weir.Ref, a weir.Attempt) AttemptView {
	return AttemptView{
		ID: weir.AttemptRef{Ref: ref, Number: a.Number}.String(), Number: a.Number,
		ClaimedAt: wire.Instant(a.ClaimedAt), SentAt: wire.Instant(a.SentAt), ProviderRef: a.ProviderRef,
		LastHeardAt: wire.Instant(a.HeardAt), FinishedAt: wire.Instant(a.FinishedAt), Outcome: a.Outcome, Reason: a.Reason,
	}
}

// maskContact masks the phone numbers in a contact.
func maskContact(v *ContactView) {
	number := v.To
	own := func(text string) string { return auth.MaskOwn(text, number) }
	v.To, v.Key, v.Survey, v.Reason = auth.MaskNumber(number), own(v.Key), own(v.Survey), own(v.Reason)
	v.Labels = auth.MaskValues(v.Labels, number)
	v.Messages = slices.Clone(v.Messages)
	for i := range v.Messages {
		v.Messages[i] = auth.MaskText(v.Messages[i])
	}
	if v.Call != nil {
		v.Call = &weir.Call{CallbackURL: own(v.Call.CallbackURL), CallFlowID: v.Call.CallFlowID, TwiML: auth.MaskText(v.Call.TwiML)}
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		a.ProviderRef, a.Reason = own(a.ProviderRef), own(a.Reason)
	}
}
