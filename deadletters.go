package weir

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// DeadOutcomes returns the outcomes that make a dead letter: an operator should
// inspect the contact, because neither the person nor the client ended it. A
// busy line, an unanswered call, a closed window and a cancellation make none.
func DeadOutcomes() []Outcome { return []Outcome{Failed, Lost, DeadLetter} }

// Dead reports whether a contact is a dead letter: it ended in one of
// [DeadOutcomes] and has no survey that retries it. A survey handles the
// failed contacts of its respondents itself.
func (c *Contact) Dead() bool {
	return c.State == Done && c.For.ID == 0 && (c.Outcome == Failed || c.Outcome == Lost || c.Outcome == DeadLetter)
}

// mostReason is the max length, in runes, of a reason that groups dead letters.
const mostReason = 200

// numberLike matches a phone number as people write it, also with separators.
var numberLike = regexp.MustCompile(`\+?\(?[0-9](?:[ ().\-/]{0,2}[0-9]){6,}`)

// GroupReason normalizes a reason so that dead letters can be grouped by it.
// Words with five or more digits identify one contact, person or moment; they
// become an ellipsis, and so does anything that could be a phone number.
func GroupReason(reason string) string {
	reason = numberLike.ReplaceAllString(reason, "…")
	var b strings.Builder
	word, digits := "", 0
	flush := func() {
		if digits >= 5 {
			word = "…"
		}
		b.WriteString(word)
		word, digits = "", 0
	}
	blank := true
	for _, r := range reason {
		switch {
		case unicode.IsLetter(r), r == '-', r == '_', r == '+':
			word, blank = word+string(r), false
		case unicode.IsDigit(r):
			word, digits, blank = word+string(r), digits+1, false
		case unicode.IsSpace(r), unicode.IsControl(r):
			if flush(); !blank {
				b.WriteByte(' ')
			}
			blank = true
		default:
			flush()
			b.WriteRune(r)
			blank = false
		}
	}
	flush()
	// Again: collapsing space may have brought digits together into a phone number.
	out := []rune(strings.TrimSpace(numberLike.ReplaceAllString(b.String(), "…")))
	return strings.TrimSpace(string(out[:min(len(out), mostReason)]))
}

// RequeuePrefix begins the key of a contact that was made from a dead letter.
// Clients must not use it: a client's contact with such a key would pass for
// the requeued one, and the dead letter would be lost.
const RequeuePrefix = "requeue:"

// RequeueKey returns the key of the contact that is made from a dead letter. It
// is unique per dead letter, so that a person is not contacted twice for one.
func RequeueKey(old Ref) string { return RequeuePrefix + old.String() }

// RequeueOf returns the contact that a requeue key names.
func RequeueOf(key string) (Ref, bool) {
	text, ok := strings.CutPrefix(key, RequeuePrefix)
	if !ok {
		return Ref{}, false
	}
	ref, err := ParseRef(text)
	return ref, err == nil
}

// Dead is one dead letter.
type Dead struct {
	Contact Contact
	At      time.Time // when it became a dead letter
	Outcome Outcome
	Reason  string // normalized by GroupReason
}

// DeadFilter selects dead letters. Zero fields select everything.
type DeadFilter struct {
	Channel      ChannelID
	Outcome      Outcome
	Reason       *string // as in DeadGroup
	Since, Until time.Time
	Cursor       string
	Limit        int
}

// DeadGroup counts dead letters of one channel with the same outcome and reason.
type DeadGroup struct {
	Channel        ChannelID
	Outcome        Outcome
	Reason         string
	Count          int64
	Oldest, Newest time.Time
}

// Requeued is the result of requeueing dead letters.
type Requeued struct {
	Contacts []Contact // the new ones
	Closed   int       // dead letters left in place because their window has closed
}

// Afterlife describes what happened to a contact after it was done.
type Afterlife struct {
	Dead       *Dead // Contact is not set; nil: not a dead letter now
	RequeuedAs Ref   // zero: not requeued
	RequeuedAt time.Time
	RequeuedBy string // id of the token
}

// DeadStore stores the dead letters.
type DeadStore interface {
	// DeadLetters lists by channel, newest first. It reads a bounded number of
	// rows, so a page may be short; the cursor is empty on the last page.
	DeadLetters(ctx context.Context, f DeadFilter) (_ []Dead, next string, err error)
	// DeadGroups counts by channel, outcome and reason, at most limit groups.
	DeadGroups(ctx context.Context, f DeadFilter, limit int) ([]DeadGroup, error)
	// CountDead returns the number of matching dead letters.
	CountDead(ctx context.Context, f DeadFilter) (int64, error)
	// Requeue replaces dead letters of a channel by new contacts, in one
	// transaction. Contacts that are not dead letters (any more) are skipped, so
	// repeating the call is harmless.
	Requeue(ctx context.Context, channel ChannelID, contacts []ContactID, token string) (Requeued, error)
	// Discard deletes dead letters, keeps their contacts, and returns how many it deleted.
	Discard(ctx context.Context, channel ChannelID, contacts []ContactID) (int, error)
	// Afterlife returns what happened to a contact after it was done.
	Afterlife(ctx context.Context, ref Ref) (Afterlife, error)
}
