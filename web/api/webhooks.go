package api

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/events"
	"weir/internal/validation"
	"weir/internal/webhooksign"
	"weir/ops"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

const webhookPath = "/v1/webhooks/{id}"

func (s *Service) webhookRoutes() []*route.Route {
	view := route.TypeOf[WebhookView]()
	return append([]*route.Route{
		{
			Method: "GET", Path: "/v1/webhooks", ID: "list-webhooks", Tag: "webhooks",
			Summary: "List webhooks by id", Query: route.Paging(100, 1000), Handle: s.listWebhooks,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[WebhookList]()}},
		},
		{
			Method: "POST", Path: "/v1/webhooks", ID: "create-webhook", Tag: "webhooks",
			Summary: "Create a webhook",
			Description: "It gets the events that are committed from then on, as POST requests with the headers and the signature of Standard Webhooks 1.0.0. " +
				"The response has the secret with which they are signed; no other request returns it. The types of events are " + strings.Join(events.Types(), ", ") + ".",
			Body: route.TypeOf[WebhookBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: s.createWebhook, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusCreated, Description: "created", Body: view}},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "GET", Path: webhookPath, ID: "get-webhook", Tag: "webhooks",
			Summary: "Get a webhook", Handle: s.getWebhook, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the webhook", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PATCH", Path: webhookPath, ID: "patch-webhook", Tag: "webhooks",
			Summary:     "Change fields of a webhook",
			Description: "Absent fields stay as they are. Events that wait for a retry are tried at once. With If-Match the change is made to that version only.",
			Body:        route.TypeOf[WebhookPatch](), BodyTypes: []string{wire.JSONType, wire.MergePatchType}, BodyLimit: wire.MaxBody, Handle: s.patchWebhook, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "changed", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodePrecondition, weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: webhookPath, ID: "delete-webhook", Tag: "webhooks",
			Summary: "Delete a webhook", Description: "Events that it has not got yet are not sent.", Handle: s.deleteWebhook, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodePrecondition},
		},
	}, s.webhookActions()...)
}

func (s *Service) listWebhooks(c *route.Call) (route.Reply, error) {
	most := c.Query.Int("limit")
	after, err := c.AfterName("webhooks")
	if err != nil {
		return route.Reply{}, err
	}
	rows, err := s.Webhooks.Webhooks(c, after, most+1)
	if err != nil {
		return route.Reply{}, err
	}
	list, next := pageOf(rows, most, func(w *events.Webhook) WebhookView { return webhookView(w, s.Now()) },
		func(v *WebhookView) string { return wire.NameCursor("webhooks", v.ID) })
	return route.Reply{Status: http.StatusOK, Body: WebhookList{list, next}}, nil
}

func (s *Service) getWebhook(c *route.Call) (route.Reply, error) {
	w, err := s.webhook(c)
	if err != nil {
		return route.Reply{}, err
	}
	return s.webhookReply(http.StatusOK, nil, &w, ""), nil
}

// webhook finds the webhook in the path.
func (s *Service) webhook(c *route.Call) (events.Webhook, error) {
	return s.Webhooks.Webhook(c, c.Request.PathValue("id"))
}

// webhookReply returns the response to a request about a webhook. before is the webhook
// before a change; nil: there is none. secret is shown if the request made it.
func (s *Service) webhookReply(status int, before, w *events.Webhook, secret string) route.Reply {
	v := webhookView(w, s.Now())
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

func (s *Service) createWebhook(c *route.Call) (route.Reply, error) {
	now := s.Now()
	w := events.Webhook{
		ID: "wh" + strings.ToLower(rand.Text()[:14]), Enabled: true, Secret: webhooksign.NewSecret(), Revision: 1, Generation: 1, Created: now, Updated: now,
	}
	if err := s.readWebhook(c, &w); err != nil {
		return route.Reply{}, err
	}
	if err := s.Webhooks.AddWebhook(c, w); err != nil {
		return route.Reply{}, err
	}
	c.Request.SetPathValue("id", w.ID) // for the audit log
	out := s.webhookReply(http.StatusCreated, &events.Webhook{}, &w, w.Secret)
	out.Location = "/v1/webhooks/" + w.ID
	return out, nil
}

// readWebhook merges a body into a webhook, and checks the result.
func (s *Service) readWebhook(c *route.Call, w *events.Webhook) error {
	var b WebhookPatch
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
	if err := s.checkWebhook(c, w); err != nil {
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
		return auth.ErrForbidden(ops.ScopePIIRead)
	}
	return nil
}

// checkWebhook finds errors that the schema does not. The error that it returns is the
// store's.
func (s *Service) checkWebhook(c *route.Call, w *events.Webhook) error {
	if w.URL != "" {
		s.checkAddress(w.URL, &c.Errors)
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
		if _, err := s.channel(c, w.Channel); weir.CodeOf(err) == weir.CodeNotFound {
			c.Errors.Add("/channel", "not_found", "there is no such channel")
		} else if err != nil {
			return err
		}
	}
	if w.Survey != "" && c.Body["survey"] != nil {
		if err := s.Survey(c, w.Survey); weir.CodeOf(err) == weir.CodeNotFound {
			c.Errors.Add("/survey", "not_found", "there is no such survey")
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) checkAddress(address string, wrong *validation.Errors) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https":
		wrong.Add("/url", "format", "must be an http or https URL with a host and without user and password; requests are signed")
	case s.MayCall != nil:
		if err := s.MayCall(address); err != nil {
			wrong.Add("/url", "not_allowed", "%v; WEIR_OUTBOUND_ALLOW has the exceptions", err)
		}
	}
}

func (s *Service) patchWebhook(c *route.Call) (route.Reply, error) {
	return s.changeWebhook(c, func(w *events.Webhook) error { return s.readWebhook(c, w) })
}

// changeWebhook changes a webhook of the version that the request demands. Without one a
// change that conflicts with another one is made again.
func (s *Service) changeWebhook(c *route.Call, change func(*events.Webhook) error) (route.Reply, error) {
	bySchema := c.Errors
	for try := 1; ; try++ {
		w, err := s.webhook(c)
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
		w, err = s.Webhooks.UpdateWebhook(c, w, s.Now())
		if weir.CodeOf(err) == weir.CodePrecondition && !demanded && try < maxTries {
			continue
		}
		if err != nil {
			return route.Reply{}, err
		}
		return s.webhookReply(http.StatusOK, &before, &w, fresh), nil
	}
}

func errVersion() error {
	return weir.Errorf(weir.CodePrecondition, "the webhook is not of the version in If-Match; get it again")
}

func (s *Service) deleteWebhook(c *route.Call) (route.Reply, error) {
	w, err := s.webhook(c)
	if err != nil {
		return route.Reply{}, err
	}
	revision := int64(0)
	if demanded, met := ifMatch(c.Request, etag(&w)); !met {
		return route.Reply{}, errVersion()
	} else if demanded {
		revision = w.Revision
	}
	return route.Reply{Status: http.StatusNoContent}, s.Webhooks.DeleteWebhook(c, w.ID, revision)
}
