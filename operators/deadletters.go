package operators

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"

	"weir"
)

// maxReason is the max length, in runes, of a reason that groups dead letters.
const maxReason = 200

// phoneNumber matches a phone number as people write it: seven or more digits of any
// script, optionally with plus, spaces, dots, dashes, slashes and brackets.
var phoneNumber = regexp.MustCompile(`[+＋]?\(?\p{Nd}(?:[ ().\-/]{0,2}\p{Nd}){6,}`)

// numberedWord matches a word with five or more digits.
var numberedWord = regexp.MustCompile(`(?:[\pL_+-]*\p{Nd}){5,}[\pL_+-]*`)

// ReplacePhoneNumbers replaces everything in a text that could be a phone number.
func ReplacePhoneNumbers(text string, by func(number string) string) string {
	return phoneNumber.ReplaceAllStringFunc(text, by)
}

// GroupReason normalizes a reason so that dead letters can be grouped by it.
// Words with five or more digits identify one contact, person or moment; they
// become an ellipsis, and so does anything that could be a phone number.
func GroupReason(reason string) string {
	reason = numberedWord.ReplaceAllString(phoneNumber.ReplaceAllString(reason, "…"), "…")
	words := strings.FieldsFunc(reason, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	// Again: collapsing space may have brought digits together into a phone number.
	out := []rune(phoneNumber.ReplaceAllString(strings.Join(words, " "), "…"))
	return strings.TrimSpace(string(out[:min(len(out), maxReason)]))
}

// RequeuePrefix begins the key of a contact that was made from a dead letter.
// Clients must not use it: a client's contact with such a key would pass for
// the requeued one, and the dead letter would be lost.
const RequeuePrefix = "requeue:"

// RequeueKey returns the key of the contact that is made from a dead letter. It
// is unique per dead letter, so that a person is not contacted twice for one.
func RequeueKey(old weir.Ref) string { return RequeuePrefix + old.String() }

// ParseRequeueKey returns the contact that a requeue key names.
func ParseRequeueKey(key string) (weir.Ref, bool) {
	text, ok := strings.CutPrefix(key, RequeuePrefix)
	if !ok {
		return weir.Ref{}, false
	}
	ref, err := weir.ParseRef(text)
	return ref, err == nil
}

// DeadLetter is one dead letter.
type DeadLetter struct {
	Contact weir.Contact
	At      time.Time // when it became a dead letter
	Outcome weir.Outcome
	Reason  string // normalized by GroupReason
}

// DeadLetterFilter selects dead letters. Zero fields select everything.
type DeadLetterFilter struct {
	Channel      weir.ChannelID
	Outcome      weir.Outcome
	Reason       *string // as in DeadLetterGroup
	Since, Until time.Time
	Cursor       string
	Limit        int
}

// DeadLetterGroup counts dead letters of one channel with the same outcome and reason.
type DeadLetterGroup struct {
	Channel        weir.ChannelID
	Outcome        weir.Outcome
	Reason         string
	Count          int64
	Oldest, Newest time.Time
}

// Requeued is the result of requeueing dead letters.
type Requeued struct {
	Contacts []weir.Contact // the new ones
	Closed   int            // dead letters left in place because their window has closed
}

// DeadLetterHistory describes what happened to a contact after it was done.
type DeadLetterHistory struct {
	Dead       *DeadLetter // Contact is not set; nil: not a dead letter now
	RequeuedAs weir.Ref    // zero: not requeued
	RequeuedAt time.Time
	RequeuedBy string // id of the token
}

// DeadLetterStore stores the dead letters.
type DeadLetterStore interface {
	// DeadLetters lists by channel, newest first. It reads a bounded number of
	// rows, so a page may be short; the cursor is empty on the last page.
	DeadLetters(ctx context.Context, f DeadLetterFilter) (_ []DeadLetter, next string, err error)
	// DeadGroups counts by channel, outcome and reason, at most limit groups.
	DeadGroups(ctx context.Context, f DeadLetterFilter, limit int) ([]DeadLetterGroup, error)
	// CountDead returns the number of matching dead letters.
	CountDead(ctx context.Context, f DeadLetterFilter) (int64, error)
	// Requeue replaces dead letters of a channel by new contacts, in one
	// transaction. Contacts that are not dead letters (any more) are skipped, so
	// repeating the call is harmless.
	Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (Requeued, error)
	// Discard deletes dead letters, keeps their contacts, and returns how many it deleted.
	Discard(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID) (int, error)
	// History returns what happened to a contact after it was done.
	History(ctx context.Context, ref weir.Ref) (DeadLetterHistory, error)
}
