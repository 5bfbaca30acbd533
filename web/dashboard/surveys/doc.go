// Package surveys has the pages of surveys: their state and course, the form and the
// document that define one, questions, a pilot, respondents, answers and the log.
//
// # Invariants
//
//   - A definition that was changed meanwhile is not overwritten: a form is sent with the
//     version that it showed.
//   - A form keeps the parts of a definition that it does not show.
//   - What is drawn is kept by the rights of its readers.
package surveys
