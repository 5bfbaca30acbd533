-- +goose Up
CREATE TABLE IF NOT EXISTS incoming (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  guid TEXT,
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  body TEXT NOT NULL,
  fields TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  PRIMARY KEY (channel_id, id),
  UNIQUE (channel_id, guid)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS incoming;
