package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// maxGroups is the max number of groups in a response.
const maxGroups = 1000

// requeuer creates new contacts from dead letters.
type requeuer interface {
	// Requeue creates new contacts from dead letters of a channel.
	Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (operators.Requeued, error)
}

// deadLetterRoutes serves dead letters.
type deadLetterRoutes struct {
	lookup   channelLookup
	store    operators.DeadLetterStore
	contacts contactReader
	broker   requeuer
}

func (r *deadLetterRoutes) table() []*route.Route {
	post := func(step, summary, help string, handle func(*route.Call) (route.Reply, error)) *route.Route {
		return &route.Route{
			Method: "POST", Path: "/v1/dead-letters:" + step, ID: step + "-dead-letters", Tag: "contacts", Summary: summary,
			Description: help + " One transaction for each 200 dead letters. Repeating the request after a lost response is safe and continues where it ended.",
			Body:        route.TypeOf[api.DeadBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: handle, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "what was done", Body: route.TypeOf[api.DeadDone]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		}
	}
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/dead-letters", ID: "list-dead-letters", Tag: "contacts",
			Summary: "List dead letters",
			Description: "Contacts that ended as failed, lost or dead_letter, by channel, the latest first. Contacts of respondents are excluded: their survey retries them. " +
				"A dead letter is removed when it is queued again or discarded, or with its contact. A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			Query: append(deadLetterFilters(), route.Paging(100, 1000)...), Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.DeadList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/dead-letters/groups", ID: "group-dead-letters", Tag: "contacts",
			Summary: "Count dead letters by channel, outcome and reason", Description: "The largest groups first.",
			Query: deadLetterFilters(), Handle: r.group,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the groups", Body: route.TypeOf[api.DeadGroups]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		post("requeue", "Queue dead letters again",
			"Each becomes a new contact with the same content and the key requeue:<id of the old one>, in the transaction that removes the dead letter, so that no person is contacted twice for one dead letter. Keys with this prefix are reserved. "+
				"The old contact stays as it is. Contacts of respondents are refused (409): their survey retries them.", r.requeue),
		post("discard", "Discard dead letters", "Their contacts stay readable until their retention ends.", r.discard),
	}
}

// deadLetterFilters are the parameters that select dead letters.
func deadLetterFilters() []httpjson.Parameter {
	return []httpjson.Parameter{
		{Name: "channel", Kind: "string", Description: "name of the channel"},
		{Name: "outcome", Kind: "string", Enum: httpjson.Words(weir.DeadOutcomes()), Single: true, Description: "how they ended"},
		{Name: "reason", Kind: "string", Description: "as in the groups; empty: dead letters without a reason"},
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): contacts that became dead letters then or later"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): contacts that became dead letters before"},
	}
}

// filter reads the filter of a list.
func (r *deadLetterRoutes) filter(c *route.Call) (operators.DeadLetterFilter, error) {
	f := operators.DeadLetterFilter{Outcome: weir.Outcome(c.Query.Text("outcome"))}
	if reason, ok := c.Query["reason"].(string); ok {
		f.Reason = &reason
	}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	if err := c.Invalid(); err != nil {
		return f, err
	}
	if name := c.Query.Text("channel"); name != "" {
		ch, err := r.lookup.selected(c, name)
		if err != nil {
			return f, err
		}
		f.Channel = ch.ID
	}
	return f, nil
}

func (r *deadLetterRoutes) list(c *route.Call) (route.Reply, error) {
	f, err := r.filter(c)
	if err != nil {
		return route.Reply{}, err
	}
	f.Limit, f.Cursor = c.Query.Int("limit"), c.Query.Text("cursor")
	list, next, err := r.store.DeadLetters(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page, known := api.DeadList{DeadLetters: make([]api.DeadView, 0, len(list)), NextCursor: next}, map[weir.ChannelID]weir.Channel{}
	for i := range list {
		d := &list[i]
		ch, err := r.lookup.byID(c, d.Contact.Channel, known)
		if err != nil {
			return route.Reply{}, err
		}
		if c.Reaches(operators.Channel(ch.Name)) {
			page.DeadLetters = append(page.DeadLetters, shownDeadLetter(c, d, ch.Name))
		}
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

func (r *deadLetterRoutes) group(c *route.Call) (route.Reply, error) {
	f, err := r.filter(c)
	if err != nil {
		return route.Reply{}, err
	}
	list, err := r.groups(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	out, known := api.DeadGroups{Groups: make([]api.DeadGroupView, 0, len(list))}, map[weir.ChannelID]weir.Channel{}
	for _, g := range list {
		ch, err := r.lookup.byID(c, g.Channel, known)
		if err != nil {
			return route.Reply{}, err
		}
		if !c.PII() {
			g.Reason = auth.MaskText(g.Reason)
		}
		out.Groups = append(out.Groups, api.DeadGroupView{
			Channel: ch.Name, Outcome: string(g.Outcome), Reason: g.Reason, Count: g.Count, Oldest: g.Oldest, Newest: g.Newest,
		})
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

// groups returns the largest groups of the channels that the sender's scopes reach.
func (r *deadLetterRoutes) groups(c *route.Call, f operators.DeadLetterFilter) (list []operators.DeadLetterGroup, err error) {
	selected, err := r.lookup.filtered(c, f.Channel)
	for _, f.Channel = range selected {
		some, err := r.store.DeadGroups(c, f, maxGroups)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	if len(selected) > 1 {
		slices.SortStableFunc(list, func(a, b operators.DeadLetterGroup) int { return cmp.Compare(b.Count, a.Count) })
	}
	return list[:min(len(list), maxGroups)], err
}

// Limits of one request on dead letters.
const (
	maxDead  = 10_000
	deadStep = 200              // per transaction
	deadTime = 12 * time.Second // then the response reports how many remain
)

// bulk is one request to requeue or discard many dead letters.
type bulk struct {
	lookup   channelLookup
	store    operators.DeadLetterStore
	filter   operators.DeadLetterFilter
	channels []weir.ChannelID // of the filter; 0: all
	refs     []weir.Ref       // if the body lists contacts
	limit    int
	dry      bool
	do       func(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (done, closed int, err error)
	out      api.DeadDone
}

func (r *deadLetterRoutes) requeue(c *route.Call) (route.Reply, error) {
	b, err := r.readBulk(c)
	if err != nil {
		return route.Reply{}, err
	}
	if err := b.refuseRespondents(c, r.contacts); err != nil {
		return route.Reply{}, err
	}
	b.do = func(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (int, int, error) {
		made, err := r.broker.Requeue(ctx, channel, list, c.Principal.ID())
		return len(made.Contacts), made.Closed, err
	}
	return b.run(c)
}

func (r *deadLetterRoutes) discard(c *route.Call) (route.Reply, error) {
	b, err := r.readBulk(c)
	if err != nil {
		return route.Reply{}, err
	}
	b.do = func(ctx context.Context, channel weir.ChannelID, list []weir.ContactID) (int, int, error) {
		n, err := r.store.Discard(ctx, channel, list)
		return n, 0, err
	}
	return b.run(c)
}

// readBulk reads a body. It sets the path values from which the audit log takes
// the subject: the channel, or the contact if the body lists exactly one.
func (r *deadLetterRoutes) readBulk(c *route.Call) (*bulk, error) {
	b := &bulk{lookup: r.lookup, store: r.store, limit: maxDead}
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
		ch, err := r.lookup.selected(c, name)
		if err != nil {
			return nil, err
		}
		b.filter.Channel = ch.ID
		c.Request.SetPathValue("channel", ch.Name)
	}
	var err error
	b.channels, err = r.lookup.filtered(c, b.filter.Channel)
	return b, err
}

// refuseRespondents rejects listed contacts that belong to respondents.
func (b *bulk) refuseRespondents(call *route.Call, contacts contactReader) error {
	out := &weir.Error{Code: weir.CodeConflict, Message: "contacts of respondents are retried by their survey"}
	known := map[weir.ChannelID]weir.Channel{}
	for i, ref := range b.refs {
		c, _, err := contactByRef(call, ref, contacts, b.lookup, known)
		if weir.CodeOf(err) == weir.CodeNotFound {
			continue // then it is not a dead letter
		}
		if err != nil {
			return err
		}
		if c.Owner.ID != 0 && c.Owner.Serial != 0 {
			out.Fields = append(out.Fields, weir.FieldError{Pointer: fmt.Sprintf("/contacts/%d", i), Code: "conflict", Detail: "is a contact of a respondent"})
		}
	}
	if len(out.Fields) > 0 {
		return out
	}
	return nil
}

// leaveOut leaves out listed contacts that the sender's scopes do not reach, as if they did not exist.
func (b *bulk) leaveOut(c *route.Call) error {
	known, kept := map[weir.ChannelID]weir.Channel{}, b.refs[:0]
	for _, ref := range b.refs {
		reached, err := b.lookup.reaches(c, ref, known)
		if err != nil {
			return err
		}
		if reached {
			kept = append(kept, ref)
		}
	}
	b.refs = kept
	return nil
}

func (b *bulk) run(c *route.Call) (route.Reply, error) {
	err := b.leaveOut(c)
	if err != nil {
		return route.Reply{}, err
	}
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

func (b *bulk) count(ctx context.Context) (n int64, err error) {
	if b.refs == nil {
		for _, b.filter.Channel = range b.channels {
			some, err := b.store.CountDead(ctx, b.filter)
			if err != nil {
				return 0, err
			}
			n += some
		}
		return n, nil
	}
	seen := map[weir.Ref]bool{}
	for _, ref := range b.refs {
		after, err := b.store.History(ctx, ref)
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
	left := b.limit
	for _, channel := range b.channels {
		var err error
		if left, err = b.walkChannel(ctx, channel, left, until); err != nil {
			return err
		}
	}
	return nil
}

// walkChannel is walk for a channel; 0: all. It returns what is left of the limit.
func (b *bulk) walkChannel(ctx context.Context, channel weir.ChannelID, left int, until time.Time) (int, error) {
	f := b.filter
	f.Channel = channel
	for left > 0 && time.Now().Before(until) {
		f.Limit = min(left, deadStep)
		list, next, err := b.store.DeadLetters(ctx, f)
		if err != nil {
			return left, err
		}
		refs := make([]weir.Ref, len(list))
		for i := range list {
			refs[i] = list[i].Contact.Ref
		}
		if err := b.step(ctx, refs); err != nil {
			return left, err
		}
		if left, f.Cursor = left-len(list), next; next == "" {
			return left, nil
		}
	}
	return left, nil
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
