package access

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/api"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
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
	Pager page.Pager
}

func loadWebhooks(v *page.Visit) (*page.Content, error) {
	var list api.WebhookList
	if err := v.Get("/v1/webhooks", v.ListQuery(page.RowsPerPage), &list); err != nil {
		return nil, err
	}
	d := &webhooksData{Pager: v.More(list.NextCursor)}
	for _, w := range list.Webhooks {
		d.List = append(d.List, webhookCard{w})
	}
	return &page.Content{Title: v.T("Webhooks"), Crumbs: []page.Crumb{{Text: v.T("Webhooks")}}, Data: d}, nil
}

// webhookData is the data of a webhook's page.
type webhookData struct {
	webhookCard
	Deliveries []api.DeliveryView
	Pager      page.Pager
}

func readWebhook(c *page.Caller, id string) (w webhookCard, err error) {
	err = c.Get(page.Path("v1", "webhooks", id), nil, &w.WebhookView)
	return w, err
}

func loadWebhook(v *page.Visit) (*page.Content, error) {
	w, err := readWebhook(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var list api.DeliveryList
	if err := v.Get(page.Path("v1", "webhooks", w.ID, "deliveries"), v.ListQuery(page.RowsPerPage), &list); err != nil {
		return nil, err
	}
	return &page.Content{
		Title: v.T("Webhook %s", w.ID), Crumbs: []page.Crumb{{Text: v.T("Webhooks"), Link: webhooksPath}, {Text: w.ID}},
		Data: &webhookData{w, list.Deliveries, v.More(list.NextCursor)},
	}, nil
}

// askWebhook returns the question about an action on a webhook. title names the webhook.
func askWebhook(button, title, text locale.Message) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		w, err := readWebhook(v.Caller, v.Request.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return &page.Question{
			Title: v.T(title, w.ID), Text: v.T(text), Button: v.T(button), Back: webhookLink(w.ID),
			Facts:  []page.Fact{{Name: v.T("Address"), Value: w.Place()}, {Name: v.T("Events"), Value: w.Events()}, {Name: v.T("State"), Value: v.Word(w.State)}},
			Crumbs: []page.Crumb{{Text: v.T("Webhooks"), Link: webhooksPath}, {Text: w.ID, Link: webhookLink(w.ID)}, {Text: v.T(button)}},
		}, nil
	}
}

// askDeleteWebhook asks whether to delete a webhook.
func askDeleteWebhook(v *page.Visit) (*page.Question, error) {
	q, err := askWebhook("Delete", "Delete webhook %s", "This cannot be undone. Events that it has not got yet are not sent.")(v)
	if err == nil {
		q.Danger = true
	}
	return q, err
}

// askReplay asks about one event, or about all that were given up.
func askReplay(v *page.Visit) (*page.Question, error) {
	q, err := askWebhook("Replay", "Replay webhook %s", "The events are sent again, with the ids that they had. An event that is older than a day is tried once.")(v)
	if err != nil {
		return nil, err
	}
	if event := v.Request.URL.Query().Get("event"); event != "" {
		q.Facts = append(q.Facts, page.Fact{Name: v.T("Event"), Value: event})
		return q, nil
	}
	q.Fields = []page.Field{{
		Name: "since", Label: v.T("Events abandoned since, UTC"), Type: "datetime-local", Required: true, Value: v.Now().Add(-24 * time.Hour).UTC().Format("2006-01-02T15:04"),
		Help: v.T("Events that wait for a retry are tried at once."),
	}}
	return q, nil
}

func replayWebhook(v *page.Visit) (*page.Done, error) {
	id, body := v.Request.PathValue("id"), map[string]any{}
	if event := v.Request.URL.Query().Get("event"); event != "" {
		body["event"] = event
	} else {
		since, err := page.ReadMoment("since", v.Request.PostForm.Get("since"))
		if err != nil {
			return nil, err
		}
		body["failed_since"] = since.Format(time.RFC3339)
	}
	var out api.ReplayView
	if err := v.Call(http.MethodPost, page.Path("v1", "webhooks", id, "replay"), body, &out); err != nil {
		return nil, err
	}
	text := v.T("%d events are sent again.", out.Replayed)
	// A page has to be answered soon, so that the rest is left to another request.
	if out.More {
		text += " " + v.T("There are more: repeat the action.")
	}
	return &page.Done{Text: text, To: webhookLink(id)}, nil
}

func enableWebhook(enabled bool) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		id := v.Request.PathValue("id")
		text := v.T("Webhook %s is paused.", id)
		if enabled {
			text = v.T("Webhook %s is resumed.", id)
		}
		err := v.Call(http.MethodPatch, page.Path("v1", "webhooks", id), map[string]any{"enabled": enabled}, nil)
		return &page.Done{Text: text, To: webhookLink(id)}, err
	}
}

func testWebhook(v *page.Visit) (*page.Done, error) {
	id := v.Request.PathValue("id")
	var d api.DeliveryView
	if err := v.Call(http.MethodPost, page.Path("v1", "webhooks", id, "test"), nil, &d); err != nil {
		return nil, err
	}
	if d.Result == "delivered" {
		return &page.Done{Text: v.T("The test event was delivered."), To: webhookLink(id)}, nil
	}
	text := v.Word(d.Error)
	if d.Error == "status" {
		text = fmt.Sprintf("HTTP %d", d.Status)
	}
	return &page.Done{Text: v.T("The test event was not delivered: %s.", text), Bad: true, To: webhookLink(id)}, nil
}

func deleteWebhook(v *page.Visit) (*page.Done, error) {
	id := v.Request.PathValue("id")
	err := v.Call(http.MethodDelete, page.Path("v1", "webhooks", id), nil, nil)
	return &page.Done{Text: v.T("Webhook %s is deleted.", id), To: webhooksPath}, err
}
