package surveys

import (
	"strings"
	"unicode/utf8"
)

// compileQuotaMessage checks the message to respondents whose quota is full.
func (d Definition) compileQuotaMessage(m *fieldErrors) text {
	const at = "/quota_message"
	if n := utf8.RuneCountInString(d.QuotaMessage); n > maxMessage || n > 0 && strings.TrimSpace(d.QuotaMessage) == "" {
		m.add(at, "length", "must have 1 to %d characters", maxMessage)
	}
	return parsed(parseText, d.QuotaMessage, at, m)
}

// QuotaMessage returns the message to a respondent whose quota turned out to be
// full; empty: there is none.
func (pl *Plan) QuotaMessage(survey string, who Person, p Progress) string {
	mode := pl.Mode(p)
	message := []rune(pl.quotaMessage.fill(who.values(survey, mode, p.Attempts.of(mode)), asIs))
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
