// Package questionnaire holds the page on which a questionnaire is written and tried.
//
//	Document   a questionnaire as its JSON, which may have mistakes; read from a form (document.go)
//	Editor     the page that shows one: a form for what is of all questions, and one for each (editor.go)
//	Lead       "after this answer go on with …", said by conditions (lead.go)
//	Try        a conversation with it, on a telephone that exists on the page alone (phone.go)
//
// The page keeps everything in its form: what was written and what was said on the telephone come back
// with each request, and nothing is stored until the questionnaire is saved. Whether it is right is for
// package questions to say.
package questionnaire
