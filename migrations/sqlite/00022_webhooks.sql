-- +goose Up
-- Webhooks that clients created, the latest tries to deliver events to each, and the events whose delivery was
-- abandoned. The progress of each is that of the receiver webhook/ID.
CREATE TABLE IF NOT EXISTS webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  url TEXT NOT NULL, -- may hold a secret
  types TEXT NOT NULL, -- patterns, joined by commas
  channel TEXT NOT NULL, -- only events of this one; empty: of all
  survey TEXT NOT NULL, -- only events of this one; empty: of all
  description TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  pii INTEGER NOT NULL, -- phone numbers are not masked
  secret TEXT NOT NULL, -- plain, because it signs
  old_secrets TEXT NOT NULL, -- JSON; they sign too, each until an instant
  old_until INTEGER NOT NULL, -- until then the last of them signs
  disabled TEXT NOT NULL, -- why Weir disabled it; empty: it did not
  failing_since INTEGER NOT NULL, -- 0: it is not failing
  revision INTEGER NOT NULL, -- grows with each change that clients see
  generation INTEGER NOT NULL, -- grows with each change that the delivery acts on
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS webhook_tries (
  webhook TEXT NOT NULL,
  id INTEGER NOT NULL, -- in the order of time
  at INTEGER NOT NULL,
  event_id INTEGER NOT NULL, -- 0: the test event
  type TEXT NOT NULL,
  status INTEGER NOT NULL, -- of the answer; 0: there was none
  duration INTEGER NOT NULL, -- microseconds
  error TEXT NOT NULL, -- class; empty: it was delivered
  abandoned INTEGER NOT NULL, -- it was the last try
  PRIMARY KEY (webhook, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS webhook_failures (
  webhook TEXT NOT NULL,
  event_id INTEGER NOT NULL,
  subject TEXT NOT NULL, -- as in deliveries
  failed_at INTEGER NOT NULL,
  replay INTEGER NOT NULL, -- 0: its delivery was abandoned; 1: the owner of the delivery is to deliver it again
  PRIMARY KEY (webhook, event_id)
) STRICT, WITHOUT ROWID;

-- Counts the changes of webhooks, so that a process notices those of others.
INSERT OR IGNORE INTO meta (name, value) VALUES ('webhooks', 0);

-- The oldest step from which a program can still run on this schema: one that does not know it
-- never owns the database. A later step that earlier programs cannot run on raises it to its
-- own number.
INSERT OR IGNORE INTO meta (name, value) VALUES ('oldest_step', 22);

-- +goose Down
DELETE FROM meta WHERE name IN ('webhooks', 'oldest_step');
DROP TABLE IF EXISTS webhook_failures;
DROP TABLE IF EXISTS webhook_tries;
DROP TABLE IF EXISTS webhooks;
