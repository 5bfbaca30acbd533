package people

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Words are the words by which people refuse in a message, and take it back. They count
// only as the whole message: see [Words.Find].
type Words struct {
	refuse, take map[string]bool
	refusals     []string
}

// Refusals lists the words that refuse.
func (w *Words) Refusals() []string { return slices.Clone(w.refusals) }

// DefaultWords returns the words of carriers and regulators in English, and their usual
// equivalents in Spanish, French and Portuguese. "Yes" takes nothing back: it is an answer.
func DefaultWords() *Words {
	return NewWords(
		[]string{
			"stop", "stop all", "quit", "end", "revoke", "opt out", "cancel", "unsubscribe",
			"alto", "parar", "baja", "cancelar", "detener", "desuscribir", // Spanish
			"arret", "arrete", "arreter", "desabonner", // French
			"sair", "pare", "remover", "descadastrar", // Portuguese
		},
		[]string{"start", "unstop", "resume", "alta", "iniciar", "suscribir", "reprendre", "cadastrar"},
	)
}

// NewWords returns words that refuse, and words that take it back.
func NewWords(refuse, take []string) *Words {
	w := &Words{refuse: map[string]bool{}, take: map[string]bool{}, refusals: refuse}
	for _, s := range refuse {
		w.refuse[fold(s)] = true
	}
	for _, s := range take {
		w.take[fold(s)] = true
	}
	return w
}

// Find returns what a message says, or "" if it is neither. Case, accents, spaces and
// punctuation do not count; a message that has other words besides is none.
func (w *Words) Find(message string) Status {
	if len(message) > maxWordMessage {
		return ""
	}
	switch said := fold(message); {
	case said == "":
		return ""
	case w.refuse[said]:
		return Refused
	case w.take[said]:
		return Given
	default:
		return ""
	}
}

// maxWordMessage is the max length of a message that can be a word, in bytes.
const maxWordMessage = 100

// fold returns the letters and digits of a text in lower case, without accents.
func fold(text string) string {
	plain, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), text)
	if err != nil {
		plain = text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, plain)
}
