package people

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Said is what a message says about being contacted.
type Said string

// What a message can say.
const (
	SaidStop  Said = "stop"  // it refuses
	SaidStart Said = "start" // it takes a refusal back
	SaidHelp  Said = "help"  // it asks who is writing
	SaidMaybe Said = "maybe" // it may refuse: a person has to decide
)

// WordLists are the words of an installation.
type WordLists struct {
	Stop    []string // refuse
	Start   []string // take it back
	Help    []string // ask who is writing
	Phrases []string // may refuse, within a message
}

// DefaultWordLists returns the words of carriers and regulators in English, and their usual
// equivalents in Spanish, French and Portuguese. Phrases of other languages
// wait for a decision, because a stop word of one language can be a common word of another. "Yes" takes nothing back: it is an answer.
func DefaultWordLists() WordLists {
	return WordLists{
		Stop: []string{
			"stop", "stop all", "quit", "end", "revoke", "opt out", "cancel", "unsubscribe",
			"alto", "parar", "baja", "cancelar", "detener", "desuscribir", "salir", // Spanish
			"arret", "arrete", "arreter", "arretez", "desabonner", // French
			"sair", "pare", "remover", "descadastrar", // Portuguese
		},
		Start: []string{"start", "unstop", "resume", "alta", "iniciar", "suscribir", "reprendre", "cadastrar"},
		Help: []string{
			"help", "info",
			"ayuda", "informacion", //nolint:misspell // Spanish
			"aide", "infos", // French
			"ajuda", "informacao", // Portuguese
		},
		Phrases: []string{
			"remove me", "remove my number", "take me off", "leave me alone", "no more messages", "no more texts", "no more calls",
			"do not call", "don't call", "do not contact", "don't contact", "do not text", "don't text", "opt me out", "not interested", "wrong number",
			// Spanish
			"no me llame", "no me llamen", "no me llames", "no llamen", "no me escriba", "no me escriban", "no me escribas", "no me mande", "no me manden", "no me envíe", "no me envíen", "no me contacten",
			"no quiero más", "no quiero recibir", "no más", "basta", "no molestar", "no molesten", "dejen de", "déjenme en paz", "borren mi número", "bórrenme", "quítenme", "darme de baja", "no me interesa", "número equivocado",
			// French
			"ne m'appelez plus", "ne m'appelle plus", "ne m'écrivez plus", "ne m'envoyez plus", "ne me contactez plus", "ne me dérangez plus", "ne plus recevoir", "laissez-moi tranquille",
			"supprimez mon numéro", "désabonnez-moi", "désinscrire", "désinscrivez-moi", "retirez-moi", "pas intéressé", "pas intéressée", "faux numéro", "mauvais numéro",
			// Portuguese
			"não me ligue", "não me liguem", "não ligue", "não liguem", "não quero mais", "não quero receber", "não mais", "não me mande", "não me mandem", "não me envie", "não me enviem", "não me incomode",
			"me deixe em paz", "me tire da lista", "retire meu número", "parem", "não tenho interesse", "número errado",
			// Swahili
			"usinipigie", "msinipigie", "usinitumie", "msinitumie", "usinisumbue", "msinisumbue", "acha kunipigia", "acha kunitumia", "acheni", "sitisha", "niondoe", "niondoeni", "ondoa namba yangu", "sitaki ujumbe", "sitaki tena",
			// Arabic
			"توقف", "توقفوا", "أوقف", "إيقاف", "إلغاء", "لا تتصل", "لا تتصلوا", "لا ترسل", "لا ترسلوا", "لا أريد رسائل", "احذف رقمي", "رقم خاطئ",
			// Indonesian
			"berhenti", "hentikan", "unreg", "jangan hubungi", "jangan telepon", "jangan kirim", "jangan ganggu", "hapus nomor saya", "salah nomor",
			// Turkish
			"ret", "iptal", "çık", "durdur", "durdurun", "aramayın", "beni arama", "mesaj atma", "mesaj atmayın", "mesaj gönderme", "mesaj göndermeyin", "mesaj istemiyorum", "aranmak istemiyorum", "numaramı silin", "listeden çıkar", "yanlış numara",
			// Russian
			"стоп", "отписаться", "отпишите", "отмена", "хватит", "прекратите", "не звони", "не звоните", "не пиши", "не пишите", "не присылайте", "удалите меня", "удалите мой номер", "оставьте меня в покое", "ошиблись номером",
			// Hindi
			"बंद करो", "बंद करें", "बंद कर दो", "बंद कीजिए", "बन्द करो", "रोको", "कॉल मत करो", "कॉल मत करना", "कॉल न करें", "फोन मत करो", "फ़ोन मत करो", "फोन न करें", "फ़ोन न करें", "मत भेजो", "मत भेजना", "न भेजें", "परेशान मत करो", "नंबर हटा दो", "गलत नंबर", "ग़लत नंबर", "band karo",
		},
	}
}

// MaxWord is the max length of a word or phrase, and of a message that can be one, in bytes.
const MaxWord = 100

// Words tell what messages say. A word counts only as the whole message: see [Words.Find].
// They are immutable.
type Words struct {
	lists WordLists
	whole map[string]Said
	parts map[string]string // what may refuse within a message, folded, as it is listed
	most  int               // letters and digits of the longest part
}

// NewWords returns words. Of a word that is in several lists the earlier list counts.
func NewWords(lists WordLists) *Words {
	w := &Words{lists: lists, whole: map[string]Said{}, parts: map[string]string{}}
	for _, list := range []struct {
		words []string
		says  Said
	}{{lists.Help, SaidHelp}, {lists.Start, SaidStart}, {lists.Stop, SaidStop}} {
		for _, s := range list.words {
			if list.says == SaidStart && Affirmative(s) {
				continue
			}
			w.whole[fold(s)] = list.says
		}
	}
	for _, s := range slices.Concat(lists.Phrases, lists.Stop) {
		folded := fold(s)
		w.parts[folded], w.most = s, max(w.most, len(folded))
	}
	delete(w.whole, "")
	delete(w.parts, "")
	return w
}

// DefaultWords returns the words of [DefaultWordLists].
func DefaultWords() *Words { return NewWords(DefaultWordLists()) }

// Lists returns the lists of the words.
func (w *Words) Lists() WordLists { return w.lists }

// For returns the words of a survey: those that it lists itself, of which nil is none, and
// the others without those that are answers to its questions.
func (w *Words) For(stop, help, answers []string) *Words {
	lists := w.lists
	if stop != nil {
		lists.Stop = stop
	}
	if help != nil {
		lists.Help = help
	}
	if len(answers) == 0 {
		return NewWords(lists)
	}
	answer := map[string]bool{}
	for _, s := range answers {
		answer[fold(s)] = true
	}
	for _, list := range []*[]string{&lists.Stop, &lists.Start, &lists.Help, &lists.Phrases} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(s string) bool { return answer[fold(s)] })
	}
	return NewWords(lists)
}

// Find returns what a message says, or "" if that is nothing about being contacted; with the
// word or phrase by which it may refuse. Case, accents, spaces and punctuation do not count. A
// message that has other words besides a word that refuses may be a refusal; with other words
// beside any other it says nothing, and so does a reaction that quotes them. "Yes" never takes a
// refusal back.
func (w *Words) Find(message string) (Said, string) {
	if IsReaction(message) {
		return "", ""
	}
	if len(message) <= MaxWord {
		if says := w.whole[fold(message)]; says != "" {
			return says, ""
		}
	}
	if part := w.within(message); part != "" {
		return SaidMaybe, part
	}
	return "", ""
}

// maxLookedAt bounds how much of a message is searched for phrases, in bytes: a text message
// of ten parts has less.
const maxLookedAt = 4000

// within returns the first word or phrase that may refuse within a message. It begins and
// ends with words of the message: "stopwatch" has none.
func (w *Words) within(message string) string {
	if len(message) > maxLookedAt {
		message = strings.ToValidUTF8(message[:maxLookedAt], "")
	}
	words := FoldWords(message)
	for i := range words {
		joined := ""
		for _, next := range words[i:] {
			if joined += next; len(joined) > w.most {
				break
			}
			if part, ok := w.parts[joined]; ok {
				return part
			}
		}
	}
	return ""
}

// FoldWords returns the words of a text, without case, width and punctuation. The marks of a letter of Latin,
// Greek, Cyrillic, Arabic and Hebrew script are accents and points, which many people do not type;
// those of other scripts are vowels and tones, which make other words.
func FoldWords(text string) []string {
	marked := false // the marks that follow are part of the word
	return strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsMark(r) && !unicode.Is(unicode.Variation_Selector, r):
			if !marked {
				return -1
			}
			return r
		case r == 'ـ': // tatweel, which only stretches a word
			return -1
		case unicode.IsLetter(r):
			marked = !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew, unicode.Common)
			if r == 'ı' {
				return 'i' // as I and İ fold
			}
			return unicode.ToLower(r) // Fold makes capitals of Cherokee
		}
		marked = false
		if unicode.IsDigit(r) {
			return r
		}
		return ' '
	}, cases.Fold().String(norm.NFKD.String(text))))
}

// fold returns the words of a text as one, so that "opt-out" and "opt out" are the same.
func fold(text string) string { return strings.Join(FoldWords(text), "") }

// Affirmative reports whether a word is a yes in one of the languages of the default words.
// Such a word never takes a refusal back: it is an answer to many questions.
func Affirmative(word string) bool {
	return slices.Contains([]string{"yes", "y", "ok", "okay", "si", "oui", "sim", "ndiyo", "نعم", "ya", "evet", "да", "हाँ", "हां"}, fold(word))
}
