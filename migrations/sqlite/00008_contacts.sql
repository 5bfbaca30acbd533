-- +goose Up
CREATE TABLE IF NOT EXISTS contacts (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  ckey TEXT,
  addr TEXT NOT NULL,
  priority INTEGER NOT NULL,
  survey TEXT NOT NULL,
  labels TEXT NOT NULL,
  content TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  size INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  state INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  pos INTEGER NOT NULL,
  expire_at INTEGER, -- not_after while it waits, else NULL
  due_at INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  claimed_at INTEGER NOT NULL DEFAULT 0,
  sent_at INTEGER NOT NULL DEFAULT 0,
  heard_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  provider_ref TEXT NOT NULL DEFAULT '',
  parts TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  cancel_asked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS contacts;
