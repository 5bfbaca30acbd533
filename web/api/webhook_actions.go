package api

import (
	"net/http"
	"strconv"
	"time"

	"weir"
	"weir/events"
	"weir/internal/webhooksign"
	"weir/web/route"
	"weir/web/wire"
)

// usualOverlap is how long the old secret signs after a rotation.
const usualOverlap = 24 * time.Hour

func (s *Service) webhookActions() []*route.Route {
	json := []string{wire.JSONType}
	return []*route.Route{
		{
			Method: "POST", Path: webhookPath + "/rotate", ID: "rotate-webhook", Tag: "webhooks",
			Summary:     "Rotate the secret of a webhook",
			Description: "The response has the new secret. For the overlap each request is also signed with the former secret, so that receivers may have either. Secrets before that one sign as long as promised, at most " + strconv.Itoa(events.MaxOldSecrets) + " in all; an overlap of 0 ends all of them. For a webhook with pii the token must have pii:read.",
			Body:        route.TypeOf[RotateBody](), BodyTypes: json, BodyLimit: wire.MaxBody, Handle: s.rotateWebhook, Tagged: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "rotated", Body: route.TypeOf[WebhookView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodePrecondition, weir.CodeConflict},
		},
		{
			Method: "POST", Path: webhookPath + "/test", ID: "test-webhook", Tag: "webhooks",
			Summary:     "Send a test event to a webhook",
			Description: "An event of type weir.webhook.test is sent at once, and once, also to a webhook that is not enabled. The response reports how that went.",
			Handle:      s.testWebhook,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "it was tried; the result says how it went", Body: route.TypeOf[DeliveryView]()}},
			Codes:       []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: webhookPath + "/deliveries", ID: "list-deliveries", Tag: "webhooks",
			Summary:     "List the latest tries to deliver events to a webhook, newest first",
			Description: "The latest " + strconv.Itoa(events.KeptTries) + " tries are kept, for as long as events are. After a crash those of the last second may be missing.",
			Query:       route.Paging(50, events.KeptTries), Handle: s.listDeliveries,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[DeliveryList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "POST", Path: webhookPath + "/replay", ID: "replay-webhook", Tag: "webhooks",
			Summary: "Deliver events to a webhook again",
			Description: "One event, or all whose delivery was given up at an instant or later, at most " + strconv.Itoa(events.MaxReplay) + " at once. They have the webhook-id that they had, " +
				"and come before later events of the same subject that were not delivered yet. An event that is older than a day is tried once. One that the filters of the webhook no longer let through is not sent. For a webhook with pii the token must have pii:read.",
			Body: route.TypeOf[ReplayBody](), BodyTypes: json, BodyLimit: wire.MaxBody, Handle: s.replayWebhook,
			Answers: []route.Answer{{Status: http.StatusAccepted, Description: "they will be delivered", Body: route.TypeOf[ReplayView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (s *Service) rotateWebhook(c *route.Call) (route.Reply, error) {
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	overlap := usualOverlap
	if hours, ok := c.Body["overlap_hours"].(float64); ok {
		overlap = time.Duration(hours) * time.Hour
	}
	return s.changeWebhook(c, func(w *events.Webhook) error {
		if err := mayReveal(c, w); err != nil {
			return err
		}
		return w.Rotate(webhooksign.NewSecret(), s.Now(), overlap)
	})
}

func (s *Service) testWebhook(c *route.Call) (route.Reply, error) {
	w, err := s.webhook(c)
	if err != nil {
		return route.Reply{}, err
	}
	t, err := s.TestWebhook(c, w)
	return route.Reply{Status: http.StatusOK, Body: deliveryView(&t)}, err
}

func (s *Service) listDeliveries(c *route.Call) (route.Reply, error) {
	most, before := c.Query.Int("limit"), cursorID(c)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	list, err := s.Webhooks.Tries(c, c.Request.PathValue("id"), before, most+1)
	if err != nil {
		return route.Reply{}, err
	}
	deliveries, next := pageOf(list, most, deliveryView, func(v *DeliveryView) string { return v.ID })
	return route.Reply{Status: http.StatusOK, Body: DeliveryList{deliveries, next}}, nil
}

func (s *Service) replayWebhook(c *route.Call) (route.Reply, error) {
	event, one := c.Body["event"].(string)
	_, all := c.Body["failed_since"].(string)
	if one == all && len(c.Errors) == 0 {
		c.Errors.Add("", "required", "must have one of event and failed_since")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	w, err := s.webhook(c)
	if err != nil {
		return route.Reply{}, err
	}
	if err := mayReveal(c, &w); err != nil {
		return route.Reply{}, err
	}
	if one {
		return s.replayEvent(c, &w, event)
	}
	n, more, err := s.Webhooks.ReplayFailed(c, w.ID, instantOf(c.Body["failed_since"]))
	return route.Reply{Status: http.StatusAccepted, Body: ReplayView{n, more}}, err
}

func (s *Service) replayEvent(c *route.Call, w *events.Webhook, text string) (route.Reply, error) {
	id, err := parseEventID(c, text, "/event")
	if err != nil {
		return route.Reply{}, err
	}
	list, err := s.Events.EventsSince(c, max(0, id-1), 1)
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
	if err := s.Webhooks.ReplayEvent(c, w.ID, list[0], s.Now()); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusAccepted, Body: ReplayView{Replayed: 1}}, nil
}
