package provider

import (
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/internal/digest"
)

// Parameters are the parameters of a callback, those with precedence first: mostly those
// of its form and of its URL.
type Parameters []url.Values

// Raw returns a parameter as it was received; empty: it is absent.
func (p Parameters) Raw(key string) string {
	for _, v := range p {
		if v.Has(key) {
			return v.Get(key)
		}
	}
	return ""
}

// Get returns a parameter as valid UTF-8.
func (p Parameters) Get(key string) string { return strings.ToValidUTF8(p.Raw(key), "\uFFFD") }

// CallSeconds reads the length of a call; 0: it is not known. Longer than a day, which
// is Twilio's limit, is no length of a call
// (https://www.twilio.com/docs/voice/api/call-resource, TimeLimit).
func CallSeconds(text string) int {
	const longest = 24 * 60 * 60
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > longest {
		return 0
	}
	return n
}

// Others returns the parameters that a driver does not know, as fields of a message that
// a person sent, without names that are not valid UTF-8.
func (p Parameters) Others(known ...string) map[string]string {
	out := map[string]string{}
	for _, v := range p {
		for key := range v {
			if !slices.Contains(known, key) && key == strings.ToValidUTF8(key, "") {
				out[key] = p.Get(key)
			}
		}
	}
	return out
}

// InventedGUID names a message for a provider that does not. By the same parts, a repeated
// callback is detected; with the time of arrival among them it is not: better twice than lost.
func InventedGUID(parts ...string) string {
	sum := digest.Of(parts...)
	return "weir-" + hex.EncodeToString(sum[:16])
}

// maxPart is the max index of a message that is accepted from a provider.
const maxPart = 9999

// ParsePart parses the index of a message. Only the spelling that it was sent in is
// accepted: 01 and +1 would be further names of one message.
func ParsePart(s string) (part int, ok bool) {
	part, err := strconv.Atoi(s)
	return part, err == nil && part >= 0 && part <= maxPart && strconv.Itoa(part) == s
}

// ParseMessage parses the segments by which a callback names an attempt and, after it, the
// index of one of its messages.
func ParseMessage(id []string) (weir.AttemptRef, int, error) {
	if len(id) == 0 || len(id) > 2 {
		return weir.AttemptRef{}, 0, errors.New("it names no attempt")
	}
	attempt, err := weir.ParseAttemptRef(id[0])
	if err != nil {
		return weir.AttemptRef{}, 0, errors.New("it names no attempt")
	}
	if len(id) == 1 {
		return attempt, weir.WholeContact, nil
	}
	part, ok := ParsePart(id[1])
	if !ok {
		return weir.AttemptRef{}, 0, errors.New("it names no message")
	}
	return attempt, part, nil
}
