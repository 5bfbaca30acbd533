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

// Limits of one request on dead letters.
const (
	maxDead   = 10_000
	deadStep  = 200              // per transaction
	deadTime  = 12 * time.Second // then the response reports how many remain
	maxGroups = 1000
)

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

// DeadBody selects the dead letters of a requeue or discard request.
type DeadBody struct {
	All      bool       `json:"all,omitempty" doc:"all there are; needed when nothing else says which"`
	Channel  string     `json:"channel,omitempty" minLength:"1" maxLength:"63" doc:"name of the channel"`
	Outcome  string     `json:"outcome,omitempty" enum:"failed,lost,dead_letter"`
	Reason   string     `json:"reason,omitempty" maxLength:"200" doc:"as groups have it; an empty one means those without"`
	Since    *time.Time `json:"since,omitempty" doc:"contacts that became dead letters at that instant or later"`
	Until    *time.Time `json:"until,omitempty" doc:"contacts that became dead letters before"`
	Contacts []string   `json:"contacts,omitempty" minItems:"1" maxItems:"200" doc:"these contacts, and nothing else says which"`
	Limit    int        `json:"limit,omitempty" minimum:"1" maximum:"10000" doc:"most that are dealt with; absent: 10000"`
	DryRun   bool       `json:"dry_run,omitempty" doc:"only count"`
}

// DeadDone is the result of a requeue or discard request.
type DeadDone struct {
	DryRun       bool  `json:"dry_run" doc:"nothing was done"`
	Matching     int64 `json:"matching" doc:"dead letters that were meant, before anything was done"`
	Done         int64 `json:"done" doc:"how many were queued again, or discarded"`
	WindowClosed int64 `json:"window_closed" doc:"how many stay because their not_after has passed: they would expire at once"`
	ChannelGone  int64 `json:"channel_gone" doc:"how many stay because their channel was deleted"`
	Remaining    int64 `json:"remaining" doc:"dead letters that are meant and still there: ask again for more than the limit"`
}

func (s *Service) deadRoutes() []*route.Route {
	filter := []wire.Parameter{
		{Name: "channel", Kind: "string", Description: "name of the channel"},
		{Name: "outcome", Kind: "string", Enum: deadOutcomes(), Single: true, Description: "how they ended"},
		{Name: "reason", Kind: "string", Description: "as groups have it; an empty one means those without"},
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): contacts that became dead letters then or later"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): contacts that became dead letters before"},
	}
	post := func(step, summary, help string, handle func(*route.Call) (route.Reply, error)) *route.Route {
		return &route.Route{
			Method: "POST", Path: "/v1/dead-letters:" + step, ID: step + "-dead-letters", Tag: "contacts", Summary: summary,
			Description: help + " One transaction for each 200; asking again after a lost answer is harmless and goes on where it ended.",
			Body:        route.TypeOf[DeadBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: handle, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "what was done", Body: route.TypeOf[DeadDone]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		}
	}
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/dead-letters", ID: "list-dead-letters", Tag: "contacts",
			Summary: "Contacts that ended badly and that nobody will retry",
			Description: "Those that ended as failed, lost or dead_letter, by channel, the latest first; not those of respondents, whom their survey retries. " +
				"They go when they are queued again or discarded, or with their contacts. A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			Query: append(filter, route.Paging(100, 1000)...), Handle: s.listDead,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[DeadList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/dead-letters/groups", ID: "group-dead-letters", Tag: "contacts",
			Summary: "How many dead letters ended alike", Description: "By channel, outcome and reason.",
			Query: filter, Handle: s.groupDead,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the groups", Body: route.TypeOf[DeadGroups]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		post("requeue", "Queue dead letters again",
			"Each becomes a new contact with the same content and the key requeue:<id of the old one>, in the transaction that takes the dead letter away: nobody is contacted twice for one. No client can give a key that begins so. "+
				"The old contact stays as it is. Contacts of respondents are refused (409): their survey retries them.", s.requeueDead),
		post("discard", "Discard dead letters", "Their contacts stay readable until their retention ends.", s.discardDead),
	}
}

func deadOutcomes() []string {
	var words []string
	for _, o := range weir.DeadOutcomes() {
		words = append(words, string(o))
	}
	return words
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
