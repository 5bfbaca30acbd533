package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/httpjson"
	"weir/web/route"
)

// Limits of one request that cancels many contacts.
const (
	maxCanceled = 10_000
	maxCounted  = 1_000_000
	cancelTime  = 12 * time.Second // then the response reports that more may remain
	countTime   = 5 * time.Second
	// cancelsAtOnce is how many contacts are canceled at a time: their commits share transactions.
	cancelsAtOnce = 64
)

// cancelRoutes serves the cancellation of many contacts.
type cancelRoutes struct {
	lookup channelLookup
	one    contactReader
	store  contactLister
	broker contactCanceler
}

func (r *cancelRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "POST", Path: "/v1/contacts:cancel", ID: "cancel-contacts", Tag: "contacts", Summary: "Cancel contacts",
		Description: "Each as by DELETE: one that waits is done at once, and for one in flight the provider is asked. Contacts that are done, or being canceled already, are left out. " +
			"A dry run counts, at most a million. Give the instant of the count as until, and the request cancels no contact that was accepted since. Repeating the request after a lost response is safe and continues where it ended.",
		Body: route.TypeOf[api.CancelBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.cancel, Repeatable: true,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "what was done", Body: route.TypeOf[api.CancelDone]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

// cancellation is one request that cancels many contacts.
type cancellation struct {
	*cancelRoutes
	filter weir.ContactFilter
	refs   []weir.Ref // if the body lists contacts
	limit  int
	dry    bool

	mu  sync.Mutex // guards out
	out api.CancelDone
}

func (r *cancelRoutes) cancel(c *route.Call) (route.Reply, error) {
	x, err := r.read(c)
	if err != nil {
		return route.Reply{}, err
	}
	if x.refs != nil {
		err = x.listed(c)
	} else {
		err = x.filtered(c)
	}
	// What was done before an error is done, and a repetition continues.
	if err != nil {
		return route.Reply{}, err
	}
	changes := []operators.FieldChange{{Field: "canceled", After: strconv.FormatInt(x.out.Canceled, 10)}, {Field: "asked", After: strconv.FormatInt(x.out.Asked, 10)}}
	return route.Reply{Status: http.StatusOK, Body: x.out, DryRun: x.dry, Changes: changes}, nil
}

// read reads a body. It sets the path values from which the audit log takes the subject: the
// channel, or the contact if the body lists exactly one.
func (r *cancelRoutes) read(c *route.Call) (*cancellation, error) {
	x := &cancellation{cancelRoutes: r, limit: maxCanceled}
	text := func(name string) string { v, _ := c.Body[name].(string); return v }
	if n, ok := c.Body["limit"].(float64); ok {
		x.limit = int(n)
	}
	x.dry, _ = c.Body["dry_run"].(bool)
	x.out.DryRun = x.dry
	x.filter = weir.ContactFilter{Survey: text("survey"), Key: text("key"), Since: instantOf(c.Body["since"]), Until: instantOf(c.Body["until"])}
	var states []string
	given, _ := c.Body["states"].([]any)
	for _, s := range given {
		word, _ := s.(string)
		states = append(states, word)
	}
	if states == nil {
		states = []string{"queued", "sending", "active", "unknown"}
	}
	x.filter.States = statesOf(states)
	x.refs = refsOf(c)
	said := 0
	for _, name := range []string{"channel", "states", "survey", "key", "since", "until"} {
		if _, ok := c.Body[name]; ok {
			said++
		}
	}
	all, _ := c.Body["all"].(bool)
	switch _, list := c.Body["contacts"]; {
	case list && (said > 0 || all):
		c.Errors.Add("/contacts", "conflict", "must not be combined with other filters")
	case !list && said == 0 && !all:
		c.Errors.Add("", "required", "must select contacts; set all to select all of them")
	}
	if err := c.Invalid(); err != nil {
		return nil, err
	}
	if len(x.refs) == 1 {
		c.Request.SetPathValue("id", x.refs[0].String())
	}
	if name := text("channel"); name != "" {
		ch, err := r.lookup.selected(c, name)
		if err != nil {
			return nil, err
		}
		x.filter.Channel = ch.ID
		c.Request.SetPathValue("channel", ch.Name)
	}
	return x, nil
}

// refsOf reads the contacts that a body lists, each once.
func refsOf(c *route.Call) []weir.Ref {
	names, _ := c.Body["contacts"].([]any)
	var refs []weir.Ref
	seen := map[weir.Ref]bool{}
	for i, name := range names {
		word, _ := name.(string)
		ref, err := weir.ParseRef(word)
		if err != nil {
			c.Errors.Add(fmt.Sprintf("/contacts/%d", i), "format", "must be the id of a contact")
		} else if !seen[ref] {
			refs = append(refs, ref)
		}
		seen[ref] = true
	}
	return refs
}

// listed cancels the contacts that the body lists. Those that do not exist count as ended: their
// retention is over. So do those that the sender's scopes do not reach.
func (x *cancellation) listed(c *route.Call) error {
	var open []weir.Contact
	known := map[weir.ChannelID]weir.Channel{}
	for _, ref := range x.refs {
		contact, _, err := contactByRef(c, ref, x.one, x.lookup, known)
		switch {
		case weir.CodeOf(err) == weir.CodeNotFound, err == nil && contact.State == weir.Done:
			x.out.Ended++
		case err != nil:
			return err
		case !contact.CancelRequested:
			open = append(open, contact)
		}
	}
	if x.out.More = len(open) > x.limit; x.out.More {
		open = open[:x.limit]
	}
	return x.each(c, open)
}

// filtered counts or cancels the contacts that match the filter.
func (x *cancellation) filtered(c *route.Call) error {
	limit, until := int64(x.limit), time.Now().Add(cancelTime)
	if x.dry {
		limit, until = maxCounted, time.Now().Add(countTime)
	}
	list, err := x.lookup.filtered(c, x.filter.Channel)
	if err != nil {
		return err
	}
	for _, channel := range list {
		x.filter.Channel, x.filter.Cursor = channel, ""
		if err := x.pages(c, limit, until); err != nil || x.out.More {
			return err
		}
	}
	return nil
}

// pages counts or cancels the contacts that match the filter, page by page.
func (x *cancellation) pages(ctx context.Context, limit int64, until time.Time) error {
	for {
		if x.out.Matching >= limit || time.Now().After(until) {
			x.out.More = true
			return nil
		}
		x.filter.Limit = int(min(int64(route.PageRows), limit-x.out.Matching))
		rows, next, err := x.store.Contacts(ctx, x.filter)
		if err != nil {
			return err
		}
		open := rows[:0]
		for i := range rows {
			if !rows[i].CancelRequested {
				open = append(open, rows[i])
			}
		}
		if err := x.each(ctx, open); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		x.filter.Cursor = next
	}
}

// each counts contacts, and cancels them unless the request is a dry run.
func (x *cancellation) each(ctx context.Context, list []weir.Contact) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cancelsAtOnce)
	for i := range list {
		x.out.Matching++
		if list[i].State.Waiting() {
			x.out.Waiting++
		}
		if x.dry {
			continue
		}
		group.Go(func() error { return x.cancelOne(ctx, list[i].Ref) })
	}
	return group.Wait()
}

func (x *cancellation) cancelOne(ctx context.Context, ref weir.Ref) error {
	state, err := x.broker.Cancel(ctx, ref)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch code := weir.CodeOf(err); {
	case code == weir.CodeConflict || code == weir.CodeNotFound: // it was done meanwhile
		x.out.Ended++
	case err != nil:
		return err
	case state == weir.Done:
		x.out.Canceled++
	default:
		x.out.Asked++
	}
	return nil
}
