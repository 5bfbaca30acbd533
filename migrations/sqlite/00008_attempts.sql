-- +goose Up
-- Attempts that ended while their contact continued.
CREATE TABLE IF NOT EXISTS attempts (
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  sent_at INTEGER NOT NULL,
  heard_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  provider_ref TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (channel_id, contact_id, number)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS attempts;
