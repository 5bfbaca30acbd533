package client

import (
	"context"
	"iter"
)

// The iterators below read a whole list, page by page. They stop at the first error,
// which they yield with a zero value. The Limit of the parameters is the page size;
// if it is 0, pages are as large as the API allows.

// Channels iterates over all channels, by name.
func (c *Client) Channels(ctx context.Context, p ListChannelsParams) iter.Seq2[ChannelView, error] {
	return pages(&p.Limit, 500, &p.Cursor, func() ([]ChannelView, string, error) {
		l, err := c.ListChannels(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.Channels, l.NextCursor, nil
	})
}

// Contacts iterates over all contacts that the parameters select.
func (c *Client) Contacts(ctx context.Context, p ListContactsParams) iter.Seq2[ContactView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]ContactView, string, error) {
		l, err := c.ListContacts(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.Contacts, l.NextCursor, nil
	})
}

// ContactsOf iterates over all contacts of a phone number, by channel, newest first.
func (c *Client) ContactsOf(ctx context.Context, b SearchBody) iter.Seq2[ContactView, error] {
	return pages(&b.Limit, 1000, &b.Cursor, func() ([]ContactView, string, error) {
		l, err := c.SearchContacts(ctx, b)
		if err != nil {
			return nil, "", err
		}
		return l.Contacts, l.NextCursor, nil
	})
}

// Surveys iterates over all surveys that the parameters select, by name.
func (c *Client) Surveys(ctx context.Context, p ListSurveysParams) iter.Seq2[SurveySummary, error] {
	return pages(&p.Limit, 100, &p.Cursor, func() ([]SurveySummary, string, error) {
		l, err := c.ListSurveys(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.Surveys, l.NextCursor, nil
	})
}

// Respondents iterates over all respondents of a survey that the parameters select.
func (c *Client) Respondents(ctx context.Context, survey string, p ListRespondentsParams) iter.Seq2[RespondentView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]RespondentView, string, error) {
		l, err := c.ListRespondents(ctx, survey, p)
		if err != nil {
			return nil, "", err
		}
		return l.Respondents, l.NextCursor, nil
	})
}

// DeadLetters iterates over all dead letters that the parameters select, by channel,
// newest first.
func (c *Client) DeadLetters(ctx context.Context, p ListDeadLettersParams) iter.Seq2[DeadView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]DeadView, string, error) {
		l, err := c.ListDeadLetters(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.DeadLetters, l.NextCursor, nil
	})
}

// SurveyLog iterates over all entries of a survey's log, newest first.
func (c *Client) SurveyLog(ctx context.Context, survey string, p ListSurveyLogParams) iter.Seq2[SurveyLogView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]SurveyLogView, string, error) {
		l, err := c.ListSurveyLog(ctx, survey, p)
		if err != nil {
			return nil, "", err
		}
		return l.Entries, l.NextCursor, nil
	})
}

// Audit iterates over the audit log, newest first.
func (c *Client) Audit(ctx context.Context, p ListAuditParams) iter.Seq2[AuditView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]AuditView, string, error) {
		l, err := c.ListAudit(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.Entries, l.NextCursor, nil
	})
}

// Webhooks iterates over all webhooks, by id.
func (c *Client) Webhooks(ctx context.Context, p ListWebhooksParams) iter.Seq2[WebhookView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]WebhookView, string, error) {
		l, err := c.ListWebhooks(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.Webhooks, l.NextCursor, nil
	})
}

// Deliveries iterates over the latest tries to deliver events to a webhook, newest first.
func (c *Client) Deliveries(ctx context.Context, webhook string, p ListDeliveriesParams) iter.Seq2[DeliveryView, error] {
	return pages(&p.Limit, 100, &p.Cursor, func() ([]DeliveryView, string, error) {
		l, err := c.ListDeliveries(ctx, webhook, p)
		if err != nil {
			return nil, "", err
		}
		return l.Deliveries, l.NextCursor, nil
	})
}

// Events iterates over all stored events that the parameters select, oldest first.
// [Client.Follow] waits for new ones.
func (c *Client) Events(ctx context.Context, p ListEventsParams) iter.Seq2[EventView, error] {
	return pages(&p.Limit, 1000, &p.Cursor, func() ([]EventView, string, error) {
		l, err := c.ListEvents(ctx, p)
		if err != nil {
			return nil, "", err
		}
		return l.Events, l.NextCursor, nil
	})
}

// pages reads page after page; next requests the page at limit and cursor.
func pages[T any](limit *int, maxLimit int, cursor *string, next func() ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if *limit == 0 {
			*limit = maxLimit
		}
		for {
			list, following, err := next()
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if *cursor = following; following == "" {
				return
			}
		}
	}
}
