package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"weir"
	"weir/ops"
	"weir/web/route"
)

// Limits of one request on dead letters.
const (
	maxDead  = 10_000
	deadStep = 200              // per transaction
	deadTime = 12 * time.Second // then the response reports how many remain
)

// bulk is one request to requeue or discard many dead letters.
type bulk struct {
	s      *Service
	filter ops.DeadLetterFilter
	refs   []weir.Ref // if the body lists contacts
	limit  int
	dry    bool
	do     func(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (done, closed int, err error)
	out    DeadDone
}

func (s *Service) requeueDead(c *route.Call) (route.Reply, error) {
	b, err := s.readBulk(c)
	if err != nil {
		return route.Reply{}, err
	}
	if err := b.refuseRespondents(c); err != nil {
		return route.Reply{}, err
	}
	b.do = func(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (int, int, error) {
		made, err := s.Broker.Requeue(ctx, channel, list, c.Principal.ID())
		return len(made.Contacts), made.Closed, err
	}
	return b.run(c)
}

func (s *Service) discardDead(c *route.Call) (route.Reply, error) {
	b, err := s.readBulk(c)
	if err != nil {
		return route.Reply{}, err
	}
	b.do = func(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (int, int, error) {
		n, err := s.Dead.Discard(ctx, channel, list)
		return n, 0, err
	}
	return b.run(c)
}

// readBulk reads a body. It sets the path values from which the audit log takes
// the subject: the channel, or the contact if the body lists exactly one.
func (s *Service) readBulk(c *route.Call) (*bulk, error) {
	b := &bulk{s: s, limit: maxDead}
	text := func(name string) string { v, _ := c.Body[name].(string); return v }
	if n, ok := c.Body["limit"].(float64); ok {
		b.limit = int(n)
	}
	b.dry, _ = c.Body["dry_run"].(bool)
	b.out.DryRun = b.dry
	b.filter.Outcome = weir.Outcome(text("outcome"))
	if reason, ok := c.Body["reason"].(string); ok {
		b.filter.Reason = &reason
	}
	b.filter.Since, b.filter.Until = instantOf(c.Body["since"]), instantOf(c.Body["until"])
	names, _ := c.Body["contacts"].([]any)
	for i, name := range names {
		word, _ := name.(string)
		ref, err := weir.ParseRef(word)
		if err != nil {
			c.Errors.Add(fmt.Sprintf("/contacts/%d", i), "format", "must be the id of a contact")
		}
		b.refs = append(b.refs, ref)
	}
	said := 0
	for _, name := range []string{"channel", "outcome", "reason", "since", "until"} {
		if _, ok := c.Body[name]; ok {
			said++
		}
	}
	all, _ := c.Body["all"].(bool)
	switch {
	case len(names) > 0 && (said > 0 || all):
		c.Errors.Add("/contacts", "conflict", "must not be combined with other filters")
	case len(names) == 0 && said == 0 && !all:
		c.Errors.Add("", "required", "must select dead letters; set all to select all of them")
	}
	if err := c.Invalid(); err != nil {
		return nil, err
	}
	if len(b.refs) == 1 {
		c.Request.SetPathValue("id", b.refs[0].String())
	}
	if name := text("channel"); name != "" {
		ch, err := s.channel(c, name)
		if err != nil {
			return nil, err
		}
		b.filter.Channel = ch.ID
		c.Request.SetPathValue("channel", ch.Name)
	}
	return b, nil
}

// refuseRespondents rejects listed contacts that belong to respondents.
func (b *bulk) refuseRespondents(ctx context.Context) error {
	out := &weir.Error{Code: weir.CodeConflict, Message: "contacts of respondents are retried by their survey"}
	for i, ref := range b.refs {
		c, _, err := b.s.Store.Contact(ctx, ref)
		if weir.CodeOf(err) == weir.CodeNotFound {
			continue // then it is not a dead letter
		}
		if err != nil {
			return err
		}
		if c.For.Serial != 0 {
			out.Fields = append(out.Fields, weir.FieldError{Pointer: fmt.Sprintf("/contacts/%d", i), Code: "conflict", Detail: "is a contact of a respondent"})
		}
	}
	if len(out.Fields) > 0 {
		return out
	}
	return nil
}

func (b *bulk) run(c *route.Call) (route.Reply, error) {
	var err error
	if b.out.Matching, err = b.count(c); err != nil {
		return route.Reply{}, err
	}
	b.out.Remaining = b.out.Matching
	if !b.dry && b.out.Matching > 0 {
		if err := b.walk(c); err != nil {
			return route.Reply{}, err
		}
		if b.out.Remaining, err = b.count(c); err != nil {
			return route.Reply{}, err
		}
	}
	return route.Reply{Status: http.StatusOK, Body: b.out, DryRun: b.dry}, nil
}

func (b *bulk) count(ctx context.Context) (int64, error) {
	if b.refs == nil {
		return b.s.Dead.CountDead(ctx, b.filter)
	}
	n := int64(0)
	seen := map[weir.Ref]bool{}
	for _, ref := range b.refs {
		after, err := b.s.Dead.Afterlife(ctx, ref)
		if err != nil {
			return 0, err
		}
		if after.Dead != nil && !seen[ref] {
			n++
		}
		seen[ref] = true
	}
	return n, nil
}

// walk processes dead letters until none are left or the limit or deadTime is
// reached.
func (b *bulk) walk(ctx context.Context) error {
	until := time.Now().Add(deadTime)
	if b.refs != nil {
		return b.step(ctx, b.refs[:min(len(b.refs), b.limit)])
	}
	f, left := b.filter, b.limit
	for left > 0 && time.Now().Before(until) {
		f.Limit = min(left, deadStep)
		list, next, err := b.s.Dead.DeadLetters(ctx, f)
		if err != nil {
			return err
		}
		refs := make([]weir.Ref, len(list))
		for i := range list {
			refs[i] = list[i].Contact.Ref
		}
		if err := b.step(ctx, refs); err != nil {
			return err
		}
		if left, f.Cursor = left-len(list), next; next == "" {
			return nil
		}
	}
	return nil
}

// step processes some dead letters, channel by channel.
func (b *bulk) step(ctx context.Context, refs []weir.Ref) error {
	byChannel := map[weir.ChannelID][]weir.ContactID{}
	for _, ref := range refs {
		byChannel[ref.Channel] = append(byChannel[ref.Channel], ref.ID)
	}
	for channel, list := range byChannel {
		done, closed, err := b.do(ctx, channel, list)
		if code := weir.CodeOf(err); code == weir.CodeNotFound || code == weir.CodeConflict {
			b.out.ChannelGone += int64(len(list))
			continue
		}
		if err != nil {
			return err
		}
		b.out.Done += int64(done)
		b.out.WindowClosed += int64(closed)
	}
	return nil
}

// DeadBody selects the dead letters of a requeue or discard request.
type DeadBody struct {
	All      bool       `json:"all,omitempty" doc:"all dead letters; required if no other field selects some"`
	Channel  string     `json:"channel,omitempty" minLength:"1" maxLength:"63" doc:"name of the channel"`
	Outcome  string     `json:"outcome,omitempty" enum:"failed,lost,dead_letter"`
	Reason   string     `json:"reason,omitempty" maxLength:"200" doc:"as in the groups; empty: dead letters without a reason"`
	Since    *time.Time `json:"since,omitempty" doc:"contacts that became dead letters at that instant or later"`
	Until    *time.Time `json:"until,omitempty" doc:"contacts that became dead letters before"`
	Contacts []string   `json:"contacts,omitempty" minItems:"1" maxItems:"200" doc:"these contacts; not with other filters"`
	Limit    int        `json:"limit,omitempty" minimum:"1" maximum:"10000" doc:"max dead letters to process; absent: 10000"`
	DryRun   bool       `json:"dry_run,omitempty" doc:"only count"`
}

// DeadDone is the result of a requeue or discard request.
type DeadDone struct {
	DryRun       bool  `json:"dry_run" doc:"nothing was done"`
	Matching     int64 `json:"matching" doc:"selected dead letters, before the request changed any"`
	Done         int64 `json:"done" doc:"how many were queued again, or discarded"`
	WindowClosed int64 `json:"window_closed" doc:"how many stay because their not_after has passed: they would expire at once"`
	ChannelGone  int64 `json:"channel_gone" doc:"how many stay because their channel was deleted"`
	Remaining    int64 `json:"remaining" doc:"selected dead letters that remain; repeat the request to process more than the limit"`
}
