package weir

import (
	"fmt"
	"strconv"
	"strings"
)

// ChannelID is the store's number of a channel. Clients use the channel's
// name.
type ChannelID int64

// ContactID orders the contacts of a channel by acceptance. It is unique
// within its channel; [Ref] is unique everywhere.
type ContactID int64

// Ref identifies one contact. Its text form contains the channel's number, so
// that the row of a callback is found without an extra index.
type Ref struct {
	Channel ChannelID
	ID      ContactID
}

// String returns the form that clients and providers see: lower-case base 36,
// channel and contact joined by a hyphen, at most 24 characters.
func (r Ref) String() string {
	return strconv.FormatInt(int64(r.Channel), 36) + "-" + strconv.FormatInt(int64(r.ID), 36)
}

// ParseRef parses the output of [Ref.String]. It rejects everything else,
// including other spellings of the same number.
func ParseRef(s string) (Ref, error) {
	channel, id, ok := strings.Cut(s, "-")
	if !ok {
		return Ref{}, fmt.Errorf("contact id %q: want two parts joined by a hyphen", clip(s))
	}
	c, errC := strconv.ParseInt(channel, 36, 64)
	n, errN := strconv.ParseInt(id, 36, 64)
	r := Ref{ChannelID(c), ContactID(n)}
	if errC != nil || errN != nil || c <= 0 || n <= 0 || r.String() != s {
		return Ref{}, fmt.Errorf("contact id %q is not one of ours", clip(s))
	}
	return r, nil
}

// AttemptRef identifies one dispatch of a contact to its provider. Callbacks
// carry it. Number counts from 1; 0 stands for the current attempt, which is
// right for providers that deduplicate contacts themselves.
type AttemptRef struct {
	Ref
	Number int
}

// String returns the contact's id, a hyphen and the number.
func (a AttemptRef) String() string {
	return a.Ref.String() + "-" + strconv.Itoa(a.Number)
}

// ParseAttemptRef parses the output of [AttemptRef.String].
func ParseAttemptRef(s string) (AttemptRef, error) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return AttemptRef{}, fmt.Errorf("attempt id %q: want three parts joined by hyphens", clip(s))
	}
	r, err := ParseRef(s[:i])
	if err != nil {
		return AttemptRef{}, err
	}
	n, err := strconv.Atoi(s[i+1:])
	a := AttemptRef{r, n}
	if err != nil || n < 1 || a.String() != s {
		return AttemptRef{}, fmt.Errorf("attempt id %q is not one of ours", clip(s))
	}
	return a, nil
}

// clip bounds the length of foreign text in an error message.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
