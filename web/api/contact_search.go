package api

import (
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/ops"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
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

func (s *Service) searchRoute() *route.Route {
	return &route.Route{
		Method: "POST", Path: "/v1/contacts:search", ID: "search-contacts", Tag: "contacts",
		Summary: "Find the contacts of a phone number",
		Description: "The number is in the body so that no address, log or history keeps it. Needs the scope " + string(ops.ScopePIIRead) + " besides, and is in the audit log, without the number. " +
			"By channel, the latest accepted first. No index has numbers: a request examines up to 100,000 contacts, so that a page may be empty and yet not be the last. " +
			"A channel and an interval make a search short.",
		Body: route.TypeOf[SearchBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: s.searchContacts, Repeatable: true,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[ContactList]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (s *Service) searchContacts(c *route.Call) (route.Reply, error) {
	if !c.PII() { // otherwise numbers could be found by trial
		return route.Reply{}, auth.ErrForbidden(ops.ScopePIIRead)
	}
	number, _ := c.Body["to"].(string)
	number = auth.Digits(number)
	if len(number) < 3 || len(number) > 15 {
		c.Errors.Add("/to", "format", "must have 3 to 15 digits")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	f := weir.ContactFilter{To: []string{number, "+" + number}, Since: instantOf(c.Body["since"]), Until: instantOf(c.Body["until"]), Limit: 100}
	if n, ok := c.Body["limit"].(float64); ok {
		f.Limit = int(n)
	}
	f.Cursor, _ = c.Body["cursor"].(string)
	channel, _ := c.Body["channel"].(string)
	out, err := s.contactsOf(c, f, strings.TrimSpace(channel))
	out.Changes = []ops.FieldChange{{Field: "to", After: auth.MaskNumber(number)}}
	if channel != "" {
		out.Changes = append(out.Changes, ops.FieldChange{Field: "channel", After: channel})
	}
	return out, err
}
