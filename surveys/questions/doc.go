// Package questions holds questionnaires that Weir itself asks: what a person may write, and the
// pure interpreter of a conversation.
//
// # Where to look
//
//	Definition           a questionnaire as a person writes it, in JSON (definition.go, read.go)
//	Questionnaire        its checked form, made by Compile (compile.go, check.go, reach.go)
//	Turn, Start, Remind  the conversation (turn.go); State, Input, Result (state.go)
//	reading.go           which message is which answer; number.go, date.go
//	render.go            what is sent; arrows.go where answers lead
//	expression           package: conditions and calculations
//	language             package: what reading and writing need to know of a language
//
// # Invariants
//
//   - Nothing here does I/O, reads a clock or draws random numbers: the instant and the seed are
//     arguments. The functions of a conversation are total: they return a result for every state and
//     input, and the same for the same.
//   - A question, each time that it is asked, has a turn of its own. An input that names another turn
//     than the present one changes nothing, and the present question is said again under its turn.
//   - Each input that counts is an answer, or uses up one of the tries of the question, so that a
//     conversation ends after as many inputs as its questions have tries.
//   - A question is asked only if it is relevant, and passed over only if it is not. Of each question
//     one [Answer] is recorded, at the latest when the conversation ends; only the text of a split
//     message is recorded again, longer.
//   - What is said is a function of the questionnaire, the state and the person.
//
// # How a caller commits a turn
//
// Everything that a [Result] holds belongs into one transaction, guarded by the revision of the
// respondent: the state in the respondent's progress, the answers and their sums, the contact that
// says the texts, with the turn in its key ({respondent}-q{turn}), the disposition that follows from
// Ended and Partial, and the removal of the outbox entry of the message. If the guard fails, nothing
// happened, and the turn is computed again from the stored state. A kill before the commit leaves the
// message in the outbox; a repetition after it names an old turn or is earlier than the present
// question (see [State.Asked]), and changes nothing. When a contact with a turn is claimed,
// [State.Claimed] belongs into the transaction that learns of it, before any message that came later
// is judged.
//
// Words that refuse come first, as for every message: the caller judges a message by
// [people.Words.For] with [Questionnaire.AnswerWords], and calls Turn only with what is no refusal.
package questions
