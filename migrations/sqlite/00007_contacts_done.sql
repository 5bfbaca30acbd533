-- +goose Up
-- Contacts that are done. A row is inserted at the end of a contact; only a provider's late report of a
-- delivery changes it. Rows are in the order of their ids, over all channels: a commit then touches few
-- pages, and SQLite writes whole pages.
CREATE TABLE IF NOT EXISTS contacts_done (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL PRIMARY KEY,
  finished_at INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  outcome TEXT NOT NULL, -- also in progress, as is finished_at: for filters, and for people who read the table
  reason TEXT NOT NULL,
  progress BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS contacts_done_time ON contacts_done (channel_id, finished_at, id);

-- +goose Down
DROP TABLE IF EXISTS contacts_done;
