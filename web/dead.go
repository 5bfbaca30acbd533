package web

import (
	"net/http"
	"time"

	"weir"
	"weir/ops"
)

// Limits of one request on dead letters.
const (
	mostDead   = 10_000
	deadStep   = 200              // per transaction
	deadTime   = 12 * time.Second // then the response reports how many remain
	mostGroups = 1000
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

func (s *service) deadRoutes() []*route {
	filter := []parameter{
		{name: "channel", kind: "string", description: "name of the channel"},
		{name: "outcome", kind: "string", enum: deadWords(), single: true, description: "how they ended"},
		{name: "reason", kind: "string", description: "as groups have it; an empty one means those without"},
		{name: "since", kind: "string", format: "date-time", description: "an instant (RFC 3339): contacts that became dead letters then or later"},
		{name: "until", kind: "string", format: "date-time", description: "an instant (RFC 3339): contacts that became dead letters before"},
	}
	post := func(step, summary, help string, handle func(*call) (reply, error)) *route {
		return &route{
			method: "POST", path: "/v1/dead-letters:" + step, id: step + "-dead-letters", tag: "contacts", summary: summary,
			description: help + " One transaction for each 200; asking again after a lost answer is harmless and goes on where it ended.",
			body:        typeOf[DeadBody](), bodyTypes: []string{jsonType}, bodyLimit: mostBody, handle: handle, repeatable: true,
			answers: []answer{{http.StatusOK, "what was done", typeOf[DeadDone]()}},
			codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		}
	}
	return []*route{
		{
			method: "GET", path: "/v1/dead-letters", id: "list-dead-letters", tag: "contacts",
			summary: "Contacts that ended badly and that nobody will retry",
			description: "Those that ended as failed, lost or dead_letter, by channel, the latest first; not those of respondents, whom their survey retries. " +
				"They go when they are queued again or discarded, or with their contacts. A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			query: append(filter, paging(100, 1000)...), handle: s.listDead,
			answers: []answer{{http.StatusOK, "one page", typeOf[DeadList]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			method: "GET", path: "/v1/dead-letters/groups", id: "group-dead-letters", tag: "contacts",
			summary: "How many dead letters ended alike", description: "By channel, outcome and reason.",
			query: filter, handle: s.groupDead,
			answers: []answer{{http.StatusOK, "the groups", typeOf[DeadGroups]()}},
			codes:   []weir.Code{weir.CodeNotFound},
		},
		post("requeue", "Queue dead letters again",
			"Each becomes a new contact with the same content and the key requeue:<id of the old one>, in the transaction that takes the dead letter away: nobody is contacted twice for one. No client can give a key that begins so. "+
				"The old contact stays as it is. Contacts of respondents are refused (409): their survey retries them.", s.requeueDead),
		post("discard", "Discard dead letters", "Their contacts stay readable until their retention ends.", s.discardDead),
	}
}

func deadWords() []string {
	var words []string
	for _, o := range weir.DeadOutcomes() {
		words = append(words, string(o))
	}
	return words
}

// deadFilter reads the filter of a list.
func (s *service) deadFilter(c *call) (ops.DeadLetterFilter, error) {
	f := ops.DeadLetterFilter{Outcome: weir.Outcome(c.query.text("outcome")), Limit: c.query.number("limit"), Cursor: c.query.text("cursor")}
	if reason, ok := c.query["reason"].(string); ok {
		f.Reason = &reason
	}
	f.Since, _ = c.instant("since")
	f.Until, _ = c.instant("until")
	if err := c.refuse(); err != nil {
		return f, err
	}
	if name := c.query.text("channel"); name != "" {
		ch, err := s.channel(c, name)
		if err != nil {
			return f, err
		}
		f.Channel = ch.ID
	}
	return f, nil
}

func (s *service) listDead(c *call) (reply, error) {
	f, err := s.deadFilter(c)
	if err != nil {
		return reply{}, err
	}
	list, next, err := s.Dead.DeadLetters(c, f)
	if err != nil {
		return reply{}, err
	}
	page, known := DeadList{DeadLetters: make([]DeadView, 0, len(list)), NextCursor: next}, map[weir.ChannelID]weir.Channel{}
	for i := range list {
		d := &list[i]
		ch, err := s.channelOf(c, d.Contact.Channel, known)
		if err != nil {
			return reply{}, err
		}
		v := DeadView{At: d.At, Outcome: d.Outcome, Reason: d.Reason, Contact: contactView(&d.Contact, ch.Name, attemptViews(&d.Contact, nil))}
		if !c.pii() {
			maskContact(&v.Contact)
			v.Reason = maskText(v.Reason)
		}
		page.DeadLetters = append(page.DeadLetters, v)
	}
	return reply{status: http.StatusOK, body: page}, nil
}

func (s *service) groupDead(c *call) (reply, error) {
	f, err := s.deadFilter(c)
	if err != nil {
		return reply{}, err
	}
	list, err := s.Dead.DeadGroups(c, f, mostGroups)
	if err != nil {
		return reply{}, err
	}
	out, known := DeadGroups{Groups: make([]DeadGroupView, 0, len(list))}, map[weir.ChannelID]weir.Channel{}
	for _, g := range list {
		ch, err := s.channelOf(c, g.Channel, known)
		if err != nil {
			return reply{}, err
		}
		if !c.pii() {
			g.Reason = maskText(g.Reason)
		}
		out.Groups = append(out.Groups, DeadGroupView{ch.Name, g.Outcome, g.Reason, g.Count, g.Oldest, g.Newest})
	}
	return reply{status: http.StatusOK, body: out}, nil
}
