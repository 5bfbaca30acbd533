package web

import (
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/ops"
)

// orderNewest is the list order that begins with the latest.
const orderNewest = "newest"

// SearchBody is the body of a search for a phone number.
type SearchBody struct {
	To      string     `json:"to" minLength:"3" maxLength:"40" pattern:"^[+0-9 ().\\-/]+$" patternDescription:"a phone number, of digits and the signs that people write between them" doc:"the number, with or without the plus; spaces, dots, dashes, slashes and brackets in it do not count" example:"+1 555 0001"`
	Channel string     `json:"channel,omitempty" maxLength:"63" doc:"name of the channel; absent: all, one after the other"`
	Since   *time.Time `json:"since,omitempty" doc:"only contacts accepted at or after this instant"`
	Until   *time.Time `json:"until,omitempty" doc:"only contacts accepted before this instant"`
	Limit   int        `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"most entries of a page"`
	Cursor  string     `json:"cursor,omitempty" maxLength:"512" doc:"next_cursor of the page before"`
}

func (s *service) searchRoute() *route {
	return &route{
		method: "POST", path: "/v1/contacts:search", id: "search-contacts", tag: "contacts",
		summary: "Find the contacts of a phone number",
		description: "The number is in the body so that no address, log or history keeps it. Needs the scope " + string(ops.ScopePIIRead) + " besides, and is in the audit log, without the number. " +
			"By channel, the latest accepted first. No index has numbers: a request examines up to 100,000 contacts, so that a page may be empty and yet not be the last. " +
			"A channel and an interval make a search short.",
		body: typeOf[SearchBody](), bodyTypes: []string{jsonType}, bodyLimit: mostBody, handle: s.searchContacts, repeatable: true,
		answers: []answer{{http.StatusOK, "one page", typeOf[ContactList]()}},
		codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (s *service) searchContacts(c *call) (reply, error) {
	if !c.pii() { // otherwise numbers could be found by trial
		return reply{}, errForbidden(ops.ScopePIIRead)
	}
	number, _ := c.body["to"].(string)
	number = digitsOf(number)
	if len(number) < 3 || len(number) > 15 {
		c.wrong.add("/to", "format", "must have 3 to 15 digits")
	}
	if err := c.refuse(); err != nil {
		return reply{}, err
	}
	f := weir.ContactFilter{To: []string{number, "+" + number}, Since: instantOf(c.body["since"]), Until: instantOf(c.body["until"]), Limit: 100}
	if n, ok := c.body["limit"].(float64); ok {
		f.Limit = int(n)
	}
	f.Cursor, _ = c.body["cursor"].(string)
	channel, _ := c.body["channel"].(string)
	out, err := s.contactsOf(c, f, strings.TrimSpace(channel))
	out.changes = []ops.FieldChange{{Field: "to", After: maskNumber(number)}}
	if channel != "" {
		out.changes = append(out.changes, ops.FieldChange{Field: "channel", After: channel})
	}
	return out, err
}
