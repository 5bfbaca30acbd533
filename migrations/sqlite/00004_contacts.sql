-- +goose Up
-- What clients sent. A row is inserted at acceptance and never changes; the state of the contact is in the
-- next tables. Rows are in the order of their ids, over all channels: a commit then touches few pages, and
-- SQLite writes whole pages.
CREATE TABLE IF NOT EXISTS contacts (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL PRIMARY KEY,
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
  lane INTEGER NOT NULL,
  for_survey INTEGER NOT NULL, -- the respondent and the number of its contact; 0: none
  for_id INTEGER NOT NULL,
  for_serial INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS contacts_channel ON contacts (channel_id);
CREATE UNIQUE INDEX IF NOT EXISTS contacts_key ON contacts (channel_id, ckey) WHERE ckey IS NOT NULL;

-- +goose Down
DROP TABLE IF EXISTS contacts;
