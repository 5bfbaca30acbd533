package questions

import "weir/api"

// Bounds of a definition.
const (
	MaxSize      = 200 << 10 // bytes of its JSON
	MaxQuestions = 500
	maxChoices   = 250 // of a question
	maxLanguages = 20
	maxWords     = 50   // of a choice, or of any other list, in a language
	maxTries     = 10   // of a question
	maxText      = 1600 // characters of a text, and of a message
	maxMessages  = 10   // at once
	maxRaw       = 500  // characters of what is kept of a message
	maxName      = 64
)

// A questionnaire as clients write it, as the API has it.
type (
	Definition = api.Definition
	Language   = api.Language
	Question   = api.Question
	Choice     = api.Choice
	Text       = api.Text
	Words      = api.Words
	Messages   = api.Messages
)

// Message names a text that is no question.
type Message = api.MessageName

// The messages.
const (
	NotUnderstood Message = "not_understood" // before a question that is asked again
	Thanks        Message = "thanks"         // after the last question
	Reminder      Message = "reminder"       // before the question of who has stopped answering
	Help          Message = "help"           // before the question of who asked for help
	Over          Message = "over"           // to who writes after the end, once
)

// messages returns every message. One that is named as an ending is sent at such an end.
func messages() []Message {
	return []Message{NotUnderstood, Thanks, Reminder, Help, Over, Message(Ineligible), Message(EndedRefused), Message(EndedBreakoff), Message(QuotaFull)}
}

// Kind is the kind of a question.
type Kind = api.QuestionKind

// The kinds.
const (
	Choose      Kind = "choice"      // one of the choices
	ChooseMany  Kind = "choices"     // one or several of them
	Number      Kind = "number"      // whole, or decimal
	FreeText    Kind = "text"        // any text
	Date        Kind = "date"        // a day
	Statement   Kind = "statement"   // a text, sent together with what follows
	Calculation Kind = "calculation" // a value that is not asked
	End         Kind = "end"         // the end of the conversation
)

// Kinds returns every kind.
func Kinds() []Kind {
	return []Kind{Choose, ChooseMany, Number, FreeText, Date, Statement, Calculation, End}
}

// Asked reports whether questions of the kind have an answer of the person.
func Asked(k Kind) bool {
	return k == Choose || k == ChooseMany || k == Number || k == FreeText || k == Date
}

// Recorded reports whether questions of the kind have an [Answer].
func Recorded(k Kind) bool { return Asked(k) || k == Calculation }

// After is what follows the last try of a question.
type After = api.AfterTries

// What can follow.
const (
	AfterBreakoff After = "breakoff"
	AfterRefused  After = "refused"
	AfterSkip     After = "skip"
)

// Ending is how a conversation ended.
type Ending = api.Ending

// The endings. The first three can stand in a definition.
const (
	Completed     Ending = "completed"
	Ineligible    Ending = "ineligible"
	EndedRefused  Ending = "refused"
	EndedBreakoff Ending = "breakoff"
	QuotaFull     Ending = "rejected"
)
