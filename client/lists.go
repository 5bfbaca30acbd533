package client

import (
	"cmp"
	"context"
	"iter"
)

// The iterators below read a whole list, page by page. They stop at the first error,
// which they yield with a zero value. The Limit of the parameters is the page size;
// if it is 0, pages are as large as the API allows.

// Channels iterates over all channels, by name.
func (c *Client) Channels(ctx context.Context, p ListChannelsParams) iter.Seq2[ChannelView, error] {
	return pages(&p.Limit, 500, &p.Cursor, func() (*ChannelList, error) { return c.ListChannels(ctx, p) },
		func(l *ChannelList) ([]ChannelView, string) { return l.Channels, l.NextCursor })
}

// Contacts iterates over all contacts that the parameters select.
func (c *Client) Contacts(ctx context.Context, p ListContactsParams) iter.Seq2[ContactView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*ContactList, error) { return c.ListContacts(ctx, p) },
		func(l *ContactList) ([]ContactView, string) { return l.Contacts, l.NextCursor })
}

// ContactsOf iterates over all contacts of a phone number, by channel, newest first.
func (c *Client) ContactsOf(ctx context.Context, b SearchBody) iter.Seq2[ContactView, error] {
	return pages(&b.Limit, 1000, &b.Cursor, func() (*ContactList, error) { return c.SearchContacts(ctx, b) },
		func(l *ContactList) ([]ContactView, string) { return l.Contacts, l.NextCursor })
}

// Surveys iterates over all surveys that the parameters select, by name.
func (c *Client) Surveys(ctx context.Context, p ListSurveysParams) iter.Seq2[SurveySummary, error] {
	return pages(&p.Limit, 100, &p.Cursor, func() (*SurveyList, error) { return c.ListSurveys(ctx, p) },
		func(l *SurveyList) ([]SurveySummary, string) { return l.Surveys, l.NextCursor })
}

// Respondents iterates over all respondents of a survey that the parameters select.
func (c *Client) Respondents(ctx context.Context, survey string, p ListRespondentsParams) iter.Seq2[RespondentView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*RespondentList, error) { return c.ListRespondents(ctx, survey, p) },
		func(l *RespondentList) ([]RespondentView, string) { return l.Respondents, l.NextCursor })
}

// SurveyTexts iterates over what respondents answered to a question, in the order of the
// respondents. Pages may be empty and yet not be the last.
func (c *Client) SurveyTexts(ctx context.Context, survey, question string, p ListSurveyTextsParams) iter.Seq2[AnswerTextView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*AnswerTextList, error) { return c.ListSurveyTexts(ctx, survey, question, p) },
		func(l *AnswerTextList) ([]AnswerTextView, string) { return l.Texts, l.NextCursor })
}

// DeadLetters iterates over all dead letters that the parameters select, by channel,
// newest first.
func (c *Client) DeadLetters(ctx context.Context, p ListDeadLettersParams) iter.Seq2[DeadView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*DeadList, error) { return c.ListDeadLetters(ctx, p) },
		func(l *DeadList) ([]DeadView, string) { return l.DeadLetters, l.NextCursor })
}

// SurveyLog iterates over all entries of a survey's log, newest first.
func (c *Client) SurveyLog(ctx context.Context, survey string, p ListSurveyLogParams) iter.Seq2[SurveyLogView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*SurveyLogList, error) { return c.ListSurveyLog(ctx, survey, p) },
		func(l *SurveyLogList) ([]SurveyLogView, string) { return l.Entries, l.NextCursor })
}

// Audit iterates over the audit log, newest first.
func (c *Client) Audit(ctx context.Context, p ListAuditParams) iter.Seq2[AuditView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*AuditList, error) { return c.ListAudit(ctx, p) },
		func(l *AuditList) ([]AuditView, string) { return l.Entries, l.NextCursor })
}

// Webhooks iterates over all webhooks, by id.
func (c *Client) Webhooks(ctx context.Context, p ListWebhooksParams) iter.Seq2[WebhookView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*WebhookList, error) { return c.ListWebhooks(ctx, p) },
		func(l *WebhookList) ([]WebhookView, string) { return l.Webhooks, l.NextCursor })
}

// Deliveries iterates over the latest tries to deliver events to a webhook, newest first.
func (c *Client) Deliveries(ctx context.Context, webhook string, p ListDeliveriesParams) iter.Seq2[DeliveryView, error] {
	return pages(&p.Limit, 100, &p.Cursor, func() (*DeliveryList, error) { return c.ListDeliveries(ctx, webhook, p) },
		func(l *DeliveryList) ([]DeliveryView, string) { return l.Deliveries, l.NextCursor })
}

// Events iterates over all stored events that the parameters select, oldest first.
// [Client.Follow] waits for new ones.
func (c *Client) Events(ctx context.Context, p ListEventsParams) iter.Seq2[EventView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() (*EventList, error) { return c.ListEvents(ctx, p) },
		func(l *EventList) ([]EventView, string) { return l.Events, l.NextCursor })
}

// pages reads page after page: get requests the page at limit and cursor, and open
// returns its items and the next cursor.
func pages[T, P any](limit *int, maxLimit int, cursor *string, get func() (*P, error), open func(*P) ([]T, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		*limit = cmp.Or(*limit, maxLimit)
		for {
			page, err := get()
			if err != nil {
				yield(*new(T), err)
				return
			}
			list, next := open(page)
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if *cursor = next; next == "" {
				return
			}
		}
	}
}
