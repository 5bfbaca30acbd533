package weir

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// DeadOutcomes lists the outcomes that leave a dead letter: somebody should
// look, because neither the person nor the client ended the contact. A busy
// line, nobody who answers, a window that closed and a cancellation do not.
func DeadOutcomes() []Outcome { return []Outcome{Failed, Lost, DeadLetter} }

// Dead tells whether a contact is a dead letter: it ended in one of
// [DeadOutcomes], and is nobody's to retry. Contacts of respondents are their
// survey's.
func (c *Contact) Dead() bool {
	return c.State == Done && c.For.ID == 0 && (c.Outcome == Failed || c.Outcome == Lost || c.Outcome == DeadLetter)
}

// mostReason is how long a reason is by which dead letters are grouped.
const mostReason = 200

// numberLike is a phone number as people write it, in several words too.
var numberLike = regexp.MustCompile(`\+?\(?[0-9](?:[ ().\-/]{0,2}[0-9]){6,}`)

// GroupReason makes a reason one by which dead letters can be grouped: words
// with five digits and more, which name one contact, person or moment, become
// an ellipsis, and so does whatever could be a number of a person.
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
	// Once more, as words may have come closer.
	out := []rune(strings.TrimSpace(numberLike.ReplaceAllString(b.String(), "…")))
	return strings.TrimSpace(string(out[:min(len(out), mostReason)]))
}

// RequeuePrefix begins the key of a contact that was made of a dead letter. A
// client's own may not begin so: its contact would stand in the place of the
// one that is to be made, and a dead letter would be lost.
const RequeuePrefix = "requeue:"

// RequeueKey is the key of the contact that is made of a dead letter: one for
// each, so that nobody is contacted twice for it.
func RequeueKey(old Ref) string { return RequeuePrefix + old.String() }

// RequeueOf is the contact that a requeue key names.
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
	At      time.Time // when it became one
	Outcome Outcome
	Reason  string // by which it is grouped
}

// DeadFilter selects dead letters. Zero fields select everything.
type DeadFilter struct {
	Channel      ChannelID
	Outcome      Outcome
	Reason       *string // as groups have it
	Since, Until time.Time
	Cursor       string
	Limit        int
}

// DeadGroup is how many dead letters ended alike.
type DeadGroup struct {
	Channel        ChannelID
	Outcome        Outcome
	Reason         string
	Count          int64
	Oldest, Newest time.Time
}

// Requeued says what became of dead letters that were to be queued again.
type Requeued struct {
	Contacts []Contact // the new ones
	Closed   int       // their window is over: they stay
}

// Afterlife is what became of a contact after its end.
type Afterlife struct {
	Dead       *Dead // without its contact; nil: it is no dead letter now
	RequeuedAs Ref   // zero: it was not
	RequeuedAt time.Time
	RequeuedBy string // id of the token
}

// DeadStore keeps the dead letters.
type DeadStore interface {
	// DeadLetters lists by channel, newest first. It reads a bounded number of
	// rows, so that a page may be short; the cursor is empty on the last page.
	DeadLetters(ctx context.Context, f DeadFilter) (_ []Dead, next string, err error)
	// DeadGroups counts by channel, outcome and reason, at most limit groups.
	DeadGroups(ctx context.Context, f DeadFilter, limit int) ([]DeadGroup, error)
	// CountDead counts.
	CountDead(ctx context.Context, f DeadFilter) (int64, error)
	// Requeue makes new contacts of dead letters of a channel, and takes these
	// away, in one transaction. Those that are none (any more) are passed over,
	// so that repeating it is harmless.
	Requeue(ctx context.Context, channel ChannelID, contacts []ContactID, token string) (Requeued, error)
	// Discard takes dead letters away and leaves their contacts. It says how many.
	Discard(ctx context.Context, channel ChannelID, contacts []ContactID) (int, error)
	// Afterlife tells what became of a contact after its end.
	Afterlife(ctx context.Context, ref Ref) (Afterlife, error)
}
