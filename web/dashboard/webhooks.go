package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/api"
	"weir/web/dashboard/locale"
)

const webhooksPath = "/webhooks"

// webhookCard is a webhook as the pages show it.
type webhookCard struct{ api.WebhookView }

// Place returns the address without its query, which may hold a secret.
func (w webhookCard) Place() string {
	place, _, _ := strings.Cut(w.URL, "?")
	return place
}

// Events returns the types of events, in one text.
func (w webhookCard) Events() string { return strings.Join(w.Types, ", ") }

// Advice explains why no events are sent, or why they fail.
func (w webhookCard) Advice(l *locale.Locale) string {
	switch {
	case w.DisabledReason == "gone":
		return l.T("Weir disabled it: the receiver answered 410 Gone.")
	case w.DisabledReason == "failing":
		return l.T("Weir disabled it: it failed for five days. Resume it when the receiver works; abandoned events can be replayed.")
	case !w.FailingSince.IsZero():
		return l.T("The latest deliveries failed. Weir retries each event for a day.")
	}
	return ""
}

func webhookLink(id string) string { return webhooksPath + "/" + url.PathEscape(id) }

// webhooksData is the data of the list of webhooks.
type webhooksData struct {
	List  []webhookCard
	Pager pager
}

func loadWebhooks(v *visit) (*content, error) {
	var page api.WebhookList
	if err := v.get("/v1/webhooks", v.listQuery(rowsPerPage), &page); err != nil {
		return nil, err
	}
	d := &webhooksData{Pager: v.more(page.NextCursor)}
	for _, w := range page.Webhooks {
		d.List = append(d.List, webhookCard{w})
	}
	return &content{title: v.T("Webhooks"), crumbs: []crumb{{Text: v.T("Webhooks")}}, data: d}, nil
}

// webhookData is the data of a webhook's page.
type webhookData struct {
	webhookCard
	Deliveries []api.DeliveryView
	Pager      pager
}

func readWebhook(c *caller, id string) (w webhookCard, err error) {
	err = c.get(apiPath("v1", "webhooks", id), nil, &w.WebhookView)
	return w, err
}

func loadWebhook(v *visit) (*content, error) {
	w, err := readWebhook(v.caller, v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var page api.DeliveryList
	if err := v.get(apiPath("v1", "webhooks", w.ID, "deliveries"), v.listQuery(rowsPerPage), &page); err != nil {
		return nil, err
	}
	return &content{
		title: v.T("Webhook %s", w.ID), crumbs: []crumb{{Text: v.T("Webhooks"), Link: webhooksPath}, {Text: w.ID}},
		data: &webhookData{w, page.Deliveries, v.more(page.NextCursor)},
	}, nil
}

// askWebhook returns the question about an action on a webhook. title names the webhook.
func askWebhook(button, title, text locale.Message) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		w, err := readWebhook(v.caller, v.r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return &question{
			title: v.T(title, w.ID), Text: v.T(text), Button: v.T(button), back: webhookLink(w.ID),
			Facts:  []fact{{v.T("Address"), w.Place()}, {v.T("Events"), w.Events()}, {v.T("State"), v.Word(w.State)}},
			crumbs: []crumb{{Text: v.T("Webhooks"), Link: webhooksPath}, {Text: w.ID, Link: webhookLink(w.ID)}, {Text: v.T(button)}},
		}, nil
	}
}

// askDeleteWebhook asks whether to delete a webhook.
func askDeleteWebhook(v *visit) (*question, error) {
	q, err := askWebhook("Delete", "Delete webhook %s", "This cannot be undone. Events that it has not got yet are not sent.")(v)
	if err == nil {
		q.Danger = true
	}
	return q, err
}

// askReplay asks about one event, or about all that were given up.
func askReplay(v *visit) (*question, error) {
	q, err := askWebhook("Replay", "Replay webhook %s", "The events are sent again, with the ids that they had. An event that is older than a day is tried once.")(v)
	if err != nil {
		return nil, err
	}
	if event := v.r.URL.Query().Get("event"); event != "" {
		q.Facts = append(q.Facts, fact{v.T("Event"), event})
		return q, nil
	}
	q.Fields = []field{{
		Name: "since", Label: v.T("Events abandoned since, UTC"), Type: "datetime-local", Required: true, Value: v.Now().Add(-24 * time.Hour).UTC().Format("2006-01-02T15:04"),
		Help: v.T("Events that wait for a retry are tried at once."),
	}}
	return q, nil
}

func replayWebhook(v *visit) (*done, error) {
	id, body := v.r.PathValue("id"), map[string]any{}
	if event := v.r.URL.Query().Get("event"); event != "" {
		body["event"] = event
	} else {
		since, err := readMoment("since", v.r.PostForm.Get("since"))
		if err != nil {
			return nil, err
		}
		body["failed_since"] = since.Format(time.RFC3339)
	}
	var out api.ReplayView
	if err := v.call(http.MethodPost, apiPath("v1", "webhooks", id, "replay"), body, &out); err != nil {
		return nil, err
	}
	text := v.T("%d events are sent again.", out.Replayed)
	// A page has to be answered soon, so that the rest is left to another request.
	if out.More {
		text += " " + v.T("There are more: repeat the action.")
	}
	return &done{text: text, to: webhookLink(id)}, nil
}

func enableWebhook(enabled bool) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		id := v.r.PathValue("id")
		text := v.T("Webhook %s is paused.", id)
		if enabled {
			text = v.T("Webhook %s is resumed.", id)
		}
		err := v.call(http.MethodPatch, apiPath("v1", "webhooks", id), map[string]any{"enabled": enabled}, nil)
		return &done{text: text, to: webhookLink(id)}, err
	}
}

func testWebhook(v *visit) (*done, error) {
	id := v.r.PathValue("id")
	var d api.DeliveryView
	if err := v.call(http.MethodPost, apiPath("v1", "webhooks", id, "test"), nil, &d); err != nil {
		return nil, err
	}
	if d.Result == "delivered" {
		return &done{text: v.T("The test event was delivered."), to: webhookLink(id)}, nil
	}
	text := v.Word(d.Error)
	if d.Error == "status" {
		text = fmt.Sprintf("HTTP %d", d.Status)
	}
	return &done{text: v.T("The test event was not delivered: %s.", text), bad: true, to: webhookLink(id)}, nil
}

func deleteWebhook(v *visit) (*done, error) {
	id := v.r.PathValue("id")
	err := v.call(http.MethodDelete, apiPath("v1", "webhooks", id), nil, nil)
	return &done{text: v.T("Webhook %s is deleted.", id), to: webhooksPath}, err
}
