package channels

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"weir"
	"weir/ops"
)

// inboxSQL takes turns between the channels, so that the items of one that
// handles none hide no others.
const inboxSQL = "SELECT mine.turn, i.id, i.channel_id, i.kind, i.payload FROM (" +
	"SELECT x.id, ROW_NUMBER() OVER (PARTITION BY x.channel_id ORDER BY x.id) AS turn " +
	"FROM inbox x JOIN leases l ON l.channel_id = x.channel_id WHERE l.owner = ?" +
	") AS mine JOIN inbox i ON i.id = mine.id ORDER BY mine.turn, i.id LIMIT ?"

// Kinds of rows of a look that are no items.
const (
	seenEvents = "events"
	seenTokens = "tokens"
	seenHooks  = "hooks"
	seenOrphan = "orphan"
)

// newsSQL gives three numbers: one that grows with every event, one that grows with every
// change of a webhook, and one that grows whenever a token is made or revoked.
const newsSQL = " UNION ALL SELECT 0, value, 0, '" + seenEvents + "', '' FROM meta WHERE name = 'events'" +
	" UNION ALL SELECT 0, value, 0, '" + seenHooks + "', '' FROM meta WHERE name = 'webhooks'" +
	" UNION ALL SELECT 0, COUNT(*) + COALESCE(SUM(CASE WHEN revoked_at > 0 THEN 1 ELSE 0 END), 0), 0, '" + seenTokens + "', '' FROM tokens"

// seen are those numbers as they were when they were looked at last.
type seen struct {
	events, hooks, tokens atomic.Int64
	once                  atomic.Bool // they were looked at
}

// lookRow is a row of a look.
type lookRow struct {
	Turn    int64  `db:"turn"`
	ID      int64  `db:"id"`
	Channel int64  `db:"channel_id"`
	Kind    string `db:"kind"`
	Payload []byte `db:"payload"`
}

// Poll implements [ops.Poller].
func (s *Store) Poll(ctx context.Context, limit int, orphans bool) (ops.Polled, error) {
	text, args := "SELECT * FROM ("+inboxSQL+") AS items"+newsSQL, []any{s.Owner, limit}
	if orphans {
		text += " UNION ALL SELECT 0, channel_id, 0, '" + seenOrphan + "', '' FROM leases WHERE " + s.orphaned()
		args = append(args, s.Owner, s.Owner)
	}
	var rows, items []lookRow
	if err := s.Read.SelectContext(ctx, &rows, text, args...); err != nil {
		return ops.Polled{}, s.Failure("look for news", err)
	}
	var found ops.Polled
	for _, r := range rows {
		switch r.Kind {
		case seenEvents:
			if s.seen.events.Swap(r.ID) != r.ID {
				found.News = true
				s.NewEvents()
			}
		case seenHooks:
			if s.seen.hooks.Swap(r.ID) != r.ID {
				found.News = true
				s.NewWebhooks()
			}
		case seenTokens:
			if s.seen.tokens.Swap(r.ID) != r.ID {
				found.News = true
				s.NewTokens()
			}
		case seenOrphan:
			found.Orphans = append(found.Orphans, weir.ChannelID(r.ID))
		default:
			items = append(items, r)
		}
	}
	slices.SortFunc(items, func(a, b lookRow) int { return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.ID, b.ID)) })
	found.Items, found.News = itemsOf(items), s.seen.once.Swap(true) && found.News
	return found, nil
}

func itemsOf(rows []lookRow) []weir.InboxItem {
	list := make([]weir.InboxItem, 0, len(rows))
	for _, r := range rows {
		list = append(list, weir.InboxItem{ID: r.ID, Channel: weir.ChannelID(r.Channel), Kind: r.Kind, Payload: r.Payload})
	}
	return list
}
