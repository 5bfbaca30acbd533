package api

import (
	"net/http"
	"time"

	"weir"
	"weir/ops"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

// maxGroups is the max number of groups in a response.
const maxGroups = 1000

// DeadView is one dead letter.
type DeadView struct {
	At      time.Time    `json:"at" doc:"when it became one"`
	Outcome weir.Outcome `json:"outcome" enum:"failed,lost,dead_letter"`
	Reason  string       `json:"reason" doc:"by which dead letters are grouped: words with five digits and more are left out; the contact has the whole text"`
	Contact ContactView  `json:"contact" doc:"with its latest attempt"`
}

// DeadList is one page of dead letters.
type DeadList struct {
	DeadLetters []DeadView `json:"dead_letters" nullable:"false" doc:"by channel, the latest first"`
	NextCursor  string     `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// DeadGroupView counts the dead letters with the same channel, outcome and
// reason.
type DeadGroupView struct {
	Channel string       `json:"channel"`
	Outcome weir.Outcome `json:"outcome" enum:"failed,lost,dead_letter"`
	Reason  string       `json:"reason"`
	Count   int64        `json:"count"`
	Oldest  time.Time    `json:"oldest" doc:"when the first of them became one"`
	Newest  time.Time    `json:"newest" doc:"when the latest of them became one"`
}

// DeadGroups are the groups of dead letters.
type DeadGroups struct {
	Groups []DeadGroupView `json:"groups" nullable:"false" doc:"the largest first; at most 1000"`
}

func (s *Service) deadRoutes() []*route.Route {
	filter := []wire.Parameter{
		{Name: "channel", Kind: "string", Description: "name of the channel"},
		{Name: "outcome", Kind: "string", Enum: wire.Words(weir.DeadOutcomes()), Single: true, Description: "how they ended"},
		{Name: "reason", Kind: "string", Description: "as in the groups; empty: dead letters without a reason"},
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): contacts that became dead letters then or later"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): contacts that became dead letters before"},
	}
	post := func(step, summary, help string, handle func(*route.Call) (route.Reply, error)) *route.Route {
		return &route.Route{
			Method: "POST", Path: "/v1/dead-letters:" + step, ID: step + "-dead-letters", Tag: "contacts", Summary: summary,
			Description: help + " One transaction for each 200 dead letters. Repeating the request after a lost response is safe and continues where it ended.",
			Body:        route.TypeOf[DeadBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: handle, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "what was done", Body: route.TypeOf[DeadDone]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		}
	}
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/dead-letters", ID: "list-dead-letters", Tag: "contacts",
			Summary: "List dead letters",
			Description: "Contacts that ended as failed, lost or dead_letter, by channel, the latest first. Contacts of respondents are excluded: their survey retries them. " +
				"A dead letter is removed when it is queued again or discarded, or with its contact. A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			Query: append(filter, route.Paging(100, 1000)...), Handle: s.listDead,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[DeadList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/dead-letters/groups", ID: "group-dead-letters", Tag: "contacts",
			Summary: "Count dead letters by channel, outcome and reason", Description: "The largest groups first.",
			Query: filter, Handle: s.groupDead,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the groups", Body: route.TypeOf[DeadGroups]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		post("requeue", "Queue dead letters again",
			"Each becomes a new contact with the same content and the key requeue:<id of the old one>, in the transaction that removes the dead letter, so that no person is contacted twice for one dead letter. Keys with this prefix are reserved. "+
				"The old contact stays as it is. Contacts of respondents are refused (409): their survey retries them.", s.requeueDead),
		post("discard", "Discard dead letters", "Their contacts stay readable until their retention ends.", s.discardDead),
	}
}

// deadLetterFilter reads the filter of a list.
func (s *Service) deadLetterFilter(c *route.Call) (ops.DeadLetterFilter, error) {
	f := ops.DeadLetterFilter{Outcome: weir.Outcome(c.Query.Text("outcome")), Limit: c.Query.Int("limit"), Cursor: c.Query.Text("cursor")}
	if reason, ok := c.Query["reason"].(string); ok {
		f.Reason = &reason
	}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	if err := c.Invalid(); err != nil {
		return f, err
	}
	if name := c.Query.Text("channel"); name != "" {
		ch, err := s.channel(c, name)
		if err != nil {
			return f, err
		}
		f.Channel = ch.ID
	}
	return f, nil
}

func (s *Service) listDead(c *route.Call) (route.Reply, error) {
	f, err := s.deadLetterFilter(c)
	if err != nil {
		return route.Reply{}, err
	}
	list, next, err := s.Dead.DeadLetters(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page, known := DeadList{DeadLetters: make([]DeadView, 0, len(list)), NextCursor: next}, map[weir.ChannelID]weir.Channel{}
	for i := range list {
		d := &list[i]
		ch, err := s.channelOf(c, d.Contact.Channel, known)
		if err != nil {
			return route.Reply{}, err
		}
		v := DeadView{At: d.At, Outcome: d.Outcome, Reason: d.Reason, Contact: contactView(&d.Contact, ch.Name, attemptViews(&d.Contact, nil))}
		if !c.PII() {
			maskContact(&v.Contact)
			v.Reason = auth.MaskText(v.Reason)
		}
		page.DeadLetters = append(page.DeadLetters, v)
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

func (s *Service) groupDead(c *route.Call) (route.Reply, error) {
	f, err := s.deadLetterFilter(c)
	if err != nil {
		return route.Reply{}, err
	}
	list, err := s.Dead.DeadGroups(c, f, maxGroups)
	if err != nil {
		return route.Reply{}, err
	}
	out, known := DeadGroups{Groups: make([]DeadGroupView, 0, len(list))}, map[weir.ChannelID]weir.Channel{}
	for _, g := range list {
		ch, err := s.channelOf(c, g.Channel, known)
		if err != nil {
			return route.Reply{}, err
		}
		if !c.PII() {
			g.Reason = auth.MaskText(g.Reason)
		}
		out.Groups = append(out.Groups, DeadGroupView{ch.Name, g.Outcome, g.Reason, g.Count, g.Oldest, g.Newest})
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}
