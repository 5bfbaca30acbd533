package api

// Problem is the body of every error response (RFC 9457). Code is stable; Title
// and Detail are for people.
type Problem struct {
	Type   string       `json:"type" doc:"always about:blank; see code" example:"about:blank"`
	Title  string       `json:"title" doc:"the name of the HTTP status"`
	Status int          `json:"status" doc:"the HTTP status"`
	Detail string       `json:"detail" doc:"a sentence for people"`
	Code   Code         `json:"code" doc:"stable name of the kind of error" enum:"invalid,not_found,conflict,locked,key_reused,precondition_failed,unauthorised,forbidden,too_many_requests,too_large,unsupported_content_type,method_not_allowed,store_unavailable,draining,internal"`
	Errors []FieldError `json:"errors,omitempty" doc:"every mistake in the request, up to 100" nullable:"false"`
}

// Code is the stable name of a kind of error.
type Code string

// FieldError is one validation failure of a request.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON pointer of the field, as in RFC 6901
	Code    string `json:"code"`    // stable: required, unknown, type, range, length, format, …
	Detail  string `json:"detail"`  // a sentence
}
