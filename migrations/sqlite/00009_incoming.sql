-- +goose Up
-- Messages that people sent.
CREATE TABLE IF NOT EXISTS incoming (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  guid TEXT,
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  body TEXT NOT NULL,
  fields TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS incoming_guid ON incoming (channel_id, guid);

-- +goose Down
DROP TABLE IF EXISTS incoming;
