package api

import "time"

// TokenBody is a token, as in a request that creates it.
type TokenBody struct {
	Name    string    `json:"name" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people, such as the client that uses it"`
	Scopes  []string  `json:"scopes" minItems:"1" maxItems:"50" nullable:"false" doc:"scopes of the token, all of which the request's token must have. contacts:read, contacts:write, channels:admin and surveys:admin may be limited to channels and surveys whose names begin with a text, as in contacts:read@north-" example:"[\"surveys:admin@north-\", \"contacts:read@north-\"]"`
	Expires time.Time `json:"expires_at,omitzero" doc:"an instant (RFC 3339) in the future; absent: it does not expire"`
}

// TokenView is a token.
type TokenView struct {
	ID      string    `json:"id" doc:"names it, in logs too, and proves nothing"`
	Name    string    `json:"name"`
	State   string    `json:"state" enum:"live,expired,revoked"`
	Scopes  []string  `json:"scopes" nullable:"false"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero" doc:"absent: it does not expire"`
	Used    time.Time `json:"used_at,omitzero" doc:"latest use, to about a minute; absent: none"`
	Token   string    `json:"token,omitempty" doc:"the text that proves it; only in the response that creates it"`
}

// TokenList is a page of tokens.
type TokenList struct {
	Tokens     []TokenView `json:"tokens" nullable:"false"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"absent on the last page"`
}
