package people

import (
	"regexp"
	"strings"
	"unicode"
)

// reaction matches what phones send by text message instead of a reaction: words for it, or an
// emoji and a preposition, and the message that it is to, in quotation marks. The words are those
// of iPhones in English and Spanish and some in French; with the emoji, which Android sends,
// the language does not matter.
var reaction = regexp.MustCompile(`(?is)^(?:(?:loved|liked|disliked|laughed at|emphasi[sz]ed|questioned|removed an? (?:heart|like|dislike|laugh|exclamation|question mark) from` +
	`|le gustó|le encantó|le dio risa|exclamó por|dudó sobre|a aimé)` +
	`|(?:\pL+ ){0,3}[\p{So}\x{203C}\x{2049}\x{1F3FB}-\x{1F3FF}]+ ?\pL+) ?[“„«"].+[”“»"]\.?$`)

// IsReaction reports whether a message is a reaction to another one, which it quotes, as phones
// send it to whoever has no way to receive a reaction. It says nothing of its own, whatever the words
// of the other message are.
func IsReaction(message string) bool {
	message = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, message)
	return reaction.MatchString(strings.Join(strings.Fields(message), " "))
}
