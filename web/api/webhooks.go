package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir"
	"weir/api"
	"weir/events"
	"weir/internal/validation"
	"weir/internal/webhooksign"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

func webhookView(w *events.Webhook, now time.Time) api.WebhookView {
	v := api.WebhookView{
		ID: w.ID, URL: w.URL, Types: w.Types, Channel: w.Channel, Survey: w.Survey, Description: w.Description, Enabled: w.Enabled, PII: w.PII,
		State: "enabled", FailingSince: httpjson.Instant(w.FailingSince), CreatedAt: w.Created, UpdatedAt: w.Updated, DisabledReason: w.Disabled,
	}
	switch {
	case !w.Enabled && w.Disabled != "":
		v.State = "disabled"
	case !w.Enabled:
		v.State = "paused"
	case !w.FailingSince.IsZero():
		v.State = "failing"
	}
	if len(w.Secrets(now)) > 1 {
		v.OldSecretUntil = httpjson.Instant(w.OldUntil())
	}
	return v
}

func deliveryView(t *events.Try) api.DeliveryView {
	v := api.DeliveryView{
		At: t.At, Type: t.Type, Status: t.Status, DurationMS: float64(t.Duration.Microseconds()) / 1000, Error: t.Error, Result: "delivered",
	}
	if t.ID != 0 {
		v.ID = strconv.FormatInt(t.ID, 10)
	}
	if t.Event != 0 {
		v.Event = strconv.FormatInt(t.Event, 10)
	}
	switch {
	case t.Abandoned:
		v.Result = "abandoned"
	case t.Error != "":
		v.Result = "failed"
	}
	return v
}

// webhookFields returns the fields of a webhook for the audit log.
func webhookFields(w *events.Webhook) map[string]any {
	types := make([]any, len(w.Types))
	for i, name := range w.Types {
		types[i] = name
	}
	fields := map[string]any{"url": w.URL, "types": types, "enabled": w.Enabled, "pii": w.PII}
	for name, value := range map[string]string{"channel": w.Channel, "survey": w.Survey, "description": w.Description, "secret": w.Secret} {
		if value != "" {
			fields[name] = value
		}
	}
	return fields
}

// etag returns the entity tag of a webhook.
func etag(w *events.Webhook) string { return `"` + strconv.FormatInt(w.Revision, 10) + `"` }

// ifMatch reports whether a request demands a version, and whether that is the current
// one.
func ifMatch(r *http.Request, tag string) (demanded, met bool) {
	given := r.Header.Values("If-Match")
	// A comma in a tag splits it, but no tag of Weir has one.
	list := strings.FieldsFunc(strings.Join(given, ","), func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	if len(given) == 0 || slices.Contains(list, "*") {
		return false, true
	}
	return true, slices.Contains(list, tag)
}

const webhookPath = "/v1/webhooks/{id}"

// webhookRoutes serves webhooks.
type webhookRoutes struct {
	store   events.WebhookStore
	log     events.Log
	checker webhookChecker
	send    func(context.Context, events.Webhook) (events.Try, error) // sends the test event
	now     func() time.Time
}

func (r *webhookRoutes) table() []*route.Route {
	view := route.TypeOf[api.WebhookView]()
	return append([]*route.Route{
		{
			Method: "GET", Path: "/v1/webhooks", ID: "list-webhooks", Tag: "webhooks",
			Summary: "List webhooks by id", Query: route.Paging(100, 1000), Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.WebhookList]()}},
		},
		{
			Method: "POST", Path: "/v1/webhooks", ID: "create-webhook", Tag: "webhooks",
			Summary: "Create a webhook",
			Description: "It gets the events that are committed from then on, as POST requests with the headers and the signature of Standard Webhooks 1.0.0. " +
				"The response has the secret with which they are signed; no other request returns it. The types of events are " + strings.Join(events.Types(), ", ") + ".",
			Body: route.TypeOf[api.WebhookBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.create, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusCreated, Description: "created", Body: view}},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "GET", Path: webhookPath, ID: "get-webhook", Tag: "webhooks",
			Summary: "Get a webhook", Handle: r.get, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the webhook", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: webhookPath, ID: "patch-webhook", Tag: "webhooks",
			Summary:     "Change fields of a webhook",
			Description: "Absent fields stay as they are. Events that wait for a retry are tried at once. With If-Match the change is made to that version only.",
			Body:        route.TypeOf[api.WebhookPatch](), BodyTypes: []string{httpjson.JSONType, httpjson.MergePatchType}, BodyLimit: httpjson.MaxBody, Handle: r.patch, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodePrecondition, weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: webhookPath, ID: "delete-webhook", Tag: "webhooks",
			Summary: "Delete a webhook", Description: "Events that it has not got yet are not sent.", Handle: r.delete, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodePrecondition},
		},
	}, r.actions()...)
}

func (r *webhookRoutes) list(c *route.Call) (route.Reply, error) {
	most := c.Query.Int("limit")
	after, err := c.AfterName("webhooks")
	if err != nil {
		return route.Reply{}, err
	}
	rows, err := r.store.Webhooks(c, after, most+1)
	if err != nil {
		return route.Reply{}, err
	}
	list, next := pageOf(rows, most, func(w *events.Webhook) api.WebhookView { return webhookView(w, r.now()) },
		func(v *api.WebhookView) string { return httpjson.NameCursor("webhooks", v.ID) })
	return route.Reply{Status: http.StatusOK, Body: api.WebhookList{Webhooks: list, NextCursor: next}}, nil
}

func (r *webhookRoutes) get(c *route.Call) (route.Reply, error) {
	w, err := r.named(c)
	if err != nil {
		return route.Reply{}, err
	}
	return r.reply(http.StatusOK, nil, &w, ""), nil
}

// named finds the webhook in the path.
func (r *webhookRoutes) named(c *route.Call) (events.Webhook, error) {
	return r.store.Webhook(c, c.Request.PathValue("id"))
}

// reply returns the response to a request about a webhook. before is the webhook
// before a change; nil: there is none. secret is shown if the request made it.
func (r *webhookRoutes) reply(status int, before, w *events.Webhook, secret string) route.Reply {
	v := webhookView(w, r.now())
	v.Secret = secret
	out := route.Reply{Status: status, Body: v, ETag: etag(w)}
	if before != nil {
		was := map[string]any{}
		if before.ID != "" {
			was = webhookFields(before)
		}
		out.Changes = route.ChangesOf(was, webhookFields(w), func(path string) bool { return path == "url" || path == "secret" })
	}
	return out
}

func (r *webhookRoutes) create(c *route.Call) (route.Reply, error) {
	now := r.now()
	w := events.Webhook{
		ID: "wh" + strings.ToLower(rand.Text()[:14]), Enabled: true, Secret: webhooksign.NewSecret(), Revision: 1, Generation: 1, Created: now, Updated: now,
	}
	if err := r.checker.read(c, &w); err != nil {
		return route.Reply{}, err
	}
	if err := r.store.AddWebhook(c, w); err != nil {
		return route.Reply{}, err
	}
	c.Request.SetPathValue("id", w.ID) // for the audit log
	out := r.reply(http.StatusCreated, &events.Webhook{}, &w, w.Secret)
	out.Location = "/v1/webhooks/" + w.ID
	return out, nil
}

// webhookChecker reads bodies of webhooks and checks them.
type webhookChecker struct {
	lookup  channelLookup
	survey  func(ctx context.Context, name string) error // an error if there is no survey of the name
	mayCall func(url string) error                       // why a URL must not be called; nil: every URL may be
}

// read merges a body into a webhook, and checks the result.
func (k *webhookChecker) read(c *route.Call, w *events.Webhook) error {
	var b api.WebhookPatch
	if raw, err := json.Marshal(c.Body); err != nil || json.Unmarshal(raw, &b) != nil {
		return c.Invalid() // reported by the schema
	}
	if b.URL != "" {
		w.URL = b.URL
	}
	if b.Types != nil {
		w.Types = b.Types
	}
	for to, from := range map[*string]*string{&w.Channel: b.Channel, &w.Survey: b.Survey, &w.Description: b.Description} {
		if from != nil {
			*to = *from
		}
	}
	if b.PII != nil {
		w.PII = *b.PII
	}
	if b.Enabled != nil {
		if w.Enabled = *b.Enabled; w.Enabled {
			w.Disabled, w.FailingSince = "", time.Time{}
		}
	}
	if err := k.check(c, w); err != nil {
		return err
	}
	if err := c.Invalid(); err != nil {
		return err
	}
	return mayReveal(c, w)
}

// mayReveal returns an error if a webhook gets full phone numbers and the caller may not
// read them: who causes deliveries or holds the secret decides who sees the numbers.
func mayReveal(c *route.Call, w *events.Webhook) error {
	if w.PII && !c.PII() {
		return auth.ErrForbidden(operators.ScopePIIRead)
	}
	return nil
}

// check finds errors that the schema does not. The error that it returns is the
// store's.
func (k *webhookChecker) check(c *route.Call, w *events.Webhook) error {
	if w.URL != "" {
		k.checkAddress(w.URL, &c.Errors)
	}
	known := events.Types()
	for i, name := range w.Types {
		if prefix, open := strings.CutSuffix(name, "*"); open && !strings.HasSuffix(prefix, ".") ||
			!slices.ContainsFunc(known, func(t string) bool { return events.TypeMatches(name, t) }) {
			c.Errors.Add("/types/"+strconv.Itoa(i), "enum", "must be one of %s, or the beginning of some up to a dot, and *", strings.Join(known, ", "))
		}
	}
	for i, name := range w.Types {
		if slices.Index(w.Types, name) < i {
			c.Errors.Add("/types/"+strconv.Itoa(i), "duplicate", "is in the list already")
		}
	}
	if w.Channel != "" && c.Body["channel"] != nil {
		if _, err := k.lookup.named(c, w.Channel); weir.CodeOf(err) == weir.CodeNotFound {
			c.Errors.Add("/channel", "not_found", "there is no such channel")
		} else if err != nil {
			return err
		}
	}
	if w.Survey != "" && c.Body["survey"] != nil {
		if err := k.survey(c, w.Survey); weir.CodeOf(err) == weir.CodeNotFound {
			c.Errors.Add("/survey", "not_found", "there is no such survey")
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (k *webhookChecker) checkAddress(address string, wrong *validation.Errors) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https":
		wrong.Add("/url", "format", "must be an http or https URL with a host and without user and password; requests are signed")
	case k.mayCall != nil:
		if err := k.mayCall(address); err != nil {
			wrong.Add("/url", "not_allowed", "%v; WEIR_OUTBOUND_ALLOW has the exceptions", err)
		}
	}
}

func (r *webhookRoutes) patch(c *route.Call) (route.Reply, error) {
	return r.change(c, func(w *events.Webhook) error { return r.checker.read(c, w) })
}

// change changes a webhook of the version that the request demands. Without one a
// change that conflicts with another one is made again.
func (r *webhookRoutes) change(c *route.Call, change func(*events.Webhook) error) (route.Reply, error) {
	bySchema := c.Errors
	for try := 1; ; try++ {
		w, err := r.named(c)
		if err != nil {
			return route.Reply{}, err
		}
		demanded, met := ifMatch(c.Request, etag(&w))
		if !met {
			return route.Reply{}, errVersion()
		}
		before := w
		c.Errors = bySchema[:len(bySchema):len(bySchema)]
		if err := change(&w); err != nil {
			return route.Reply{}, err
		}
		fresh := ""
		if w.Secret != before.Secret {
			fresh = w.Secret
		}
		w, err = r.store.UpdateWebhook(c, w, r.now())
		if weir.CodeOf(err) == weir.CodePrecondition && !demanded && try < maxTries {
			continue
		}
		if err != nil {
			return route.Reply{}, err
		}
		return r.reply(http.StatusOK, &before, &w, fresh), nil
	}
}

func errVersion() error {
	return weir.Errorf(weir.CodePrecondition, "the webhook is not of the version in If-Match; get it again")
}

func (r *webhookRoutes) delete(c *route.Call) (route.Reply, error) {
	w, err := r.named(c)
	if err != nil {
		return route.Reply{}, err
	}
	revision := int64(0)
	if demanded, met := ifMatch(c.Request, etag(&w)); !met {
		return route.Reply{}, errVersion()
	} else if demanded {
		revision = w.Revision
	}
	return route.Reply{Status: http.StatusNoContent}, r.store.DeleteWebhook(c, w.ID, revision)
}

// usualOverlap is how long the old secret signs after a rotation.
const usualOverlap = 24 * time.Hour

func (r *webhookRoutes) actions() []*route.Route {
	json := []string{httpjson.JSONType}
	return []*route.Route{
		{
			Method: "POST", Path: webhookPath + "/rotate", ID: "rotate-webhook", Tag: "webhooks",
			Summary:     "Rotate the secret of a webhook",
			Description: "The response has the new secret. For the overlap each request is also signed with the former secret, so that receivers may have either. Secrets before that one sign as long as promised, at most " + strconv.Itoa(events.MaxOldSecrets) + " in all; an overlap of 0 ends all of them. For a webhook with pii the token must have pii:read.",
			Body:        route.TypeOf[api.RotateBody](), BodyTypes: json, BodyLimit: httpjson.MaxBody, Handle: r.rotate, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "rotated", Body: route.TypeOf[api.WebhookView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodePrecondition, weir.CodeConflict},
		},
		{
			Method: "POST", Path: webhookPath + "/test", ID: "test-webhook", Tag: "webhooks",
			Summary:     "Send a test event to a webhook",
			Description: "An event of type weir.webhook.test is sent at once, and once, also to a webhook that is not enabled. The response reports how that went.",
			Handle:      r.test,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "it was tried; the result says how it went", Body: route.TypeOf[api.DeliveryView]()}},
			Codes:       []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: webhookPath + "/deliveries", ID: "list-deliveries", Tag: "webhooks",
			Summary:     "List the latest tries to deliver events to a webhook, newest first",
			Description: "The latest " + strconv.Itoa(events.KeptTries) + " tries are kept, for as long as events are. After a crash those of the last second may be missing.",
			Query:       route.Paging(50, events.KeptTries), Handle: r.deliveries,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.DeliveryList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "POST", Path: webhookPath + "/replay", ID: "replay-webhook", Tag: "webhooks",
			Summary: "Deliver events to a webhook again",
			Description: "One event, or all whose delivery was given up at an instant or later, at most " + strconv.Itoa(events.MaxReplay) + " at once. They have the webhook-id that they had, " +
				"and come before later events of the same subject that were not delivered yet. An event that is older than a day is tried once. One that the filters of the webhook no longer let through is not sent. For a webhook with pii the token must have pii:read.",
			Body: route.TypeOf[api.ReplayBody](), BodyTypes: json, BodyLimit: httpjson.MaxBody, Handle: r.replay,
			Answers: []route.Answer{{Status: http.StatusAccepted, Description: "they will be delivered", Body: route.TypeOf[api.ReplayView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (r *webhookRoutes) rotate(c *route.Call) (route.Reply, error) {
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	overlap := usualOverlap
	if hours, ok := c.Body["overlap_hours"].(float64); ok {
		overlap = time.Duration(hours) * time.Hour
	}
	return r.change(c, func(w *events.Webhook) error {
		if err := mayReveal(c, w); err != nil {
			return err
		}
		return w.Rotate(webhooksign.NewSecret(), r.now(), overlap)
	})
}

func (r *webhookRoutes) test(c *route.Call) (route.Reply, error) {
	w, err := r.named(c)
	if err != nil {
		return route.Reply{}, err
	}
	t, err := r.send(c, w)
	return route.Reply{Status: http.StatusOK, Body: deliveryView(&t)}, err
}

func (r *webhookRoutes) deliveries(c *route.Call) (route.Reply, error) {
	most, before := c.Query.Int("limit"), cursorID(c)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	list, err := r.store.Tries(c, c.Request.PathValue("id"), before, most+1)
	if err != nil {
		return route.Reply{}, err
	}
	deliveries, next := pageOf(list, most, deliveryView, func(v *api.DeliveryView) string { return v.ID })
	return route.Reply{Status: http.StatusOK, Body: api.DeliveryList{Deliveries: deliveries, NextCursor: next}}, nil
}

func (r *webhookRoutes) replay(c *route.Call) (route.Reply, error) {
	event, one := c.Body["event"].(string)
	_, all := c.Body["failed_since"].(string)
	if one == all && len(c.Errors) == 0 {
		c.Errors.Add("", "required", "must have one of event and failed_since")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	w, err := r.named(c)
	if err != nil {
		return route.Reply{}, err
	}
	if err := mayReveal(c, &w); err != nil {
		return route.Reply{}, err
	}
	if one {
		return r.replayEvent(c, &w, event)
	}
	n, more, err := r.store.ReplayFailed(c, w.ID, instantOf(c.Body["failed_since"]))
	return route.Reply{Status: http.StatusAccepted, Body: api.ReplayView{Replayed: n, More: more}}, err
}

func (r *webhookRoutes) replayEvent(c *route.Call, w *events.Webhook, text string) (route.Reply, error) {
	id, err := parseEventID(c, text, "/event")
	if err != nil {
		return route.Reply{}, err
	}
	list, err := r.log.EventsSince(c, max(0, id-1), 1)
	if err != nil {
		return route.Reply{}, err
	}
	switch {
	case len(list) == 0 || list[0].ID != id:
		c.Errors.Add("/event", "not_found", "is not in the log, or no longer")
	case !w.WantsType(list[0].Type):
		c.Errors.Add("/event", "conflict", "is of type %s, which the webhook does not get", list[0].Type)
	case !w.WantsScope(events.ScopeOf(&list[0])):
		c.Errors.Add("/event", "conflict", "is of a channel or survey whose events the webhook does not get")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if err := r.store.ReplayEvent(c, w.ID, list[0], r.now()); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusAccepted, Body: api.ReplayView{Replayed: 1}}, nil
}
