// Package expression parses and evaluates the expressions of questionnaires: the part of XPath
// that XLSForm uses, such as ${age} >= 18 and selected(${symptoms}, 'fever').
//
// Where engines differ, an expression means what it means in JavaRosa, the engine of ODK Collect
// and KoboCollect: a question without an answer is the empty text, which is no number, so that
// ${age} < 5 is false and ${age} != 0 is true. Two things mean more than there: a text in the form
// of a date compares with dates, and round-trips of numbers are exact.
//
// # Invariants
//
//   - [Parse] returns an expression or an [Error] with the character at which it is wrong; it
//     bounds length and depth.
//   - [Expression.Value] is total: it returns a value for every [Env], and the same for the same. It
//     reads no clock: today() is of the instant that the Env has.
//   - A value can be [Unknown]. An expression of unknown operands is unknown, unless it comes to the
//     same value whatever they are: false and ${x} is false. So conditions are examined before
//     anybody has answered.
package expression
