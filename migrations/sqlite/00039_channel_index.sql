-- +goose Up
-- Find the contacts of a channel, by their ids, and those that are done, by their ends. Rows are written some thousand
-- at a time: an index of contacts that begins with the channel costs each batch a page for each of its channels.
CREATE TABLE IF NOT EXISTS contacts_by_channel (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contacts_by_end (
  channel_id INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (channel_id, finished_at, id)
) STRICT, WITHOUT ROWID;
-- Contacts with greater ids than contacts_indexed may not be in contacts_by_channel yet. Of those up to contacts_old, the
-- ones that were here before this step, the program adds them and their ends in the background, as far as
-- contacts_old_indexed; then it drops the indexes contacts_channel and contacts_done_time, which it uses until then. An
-- older program would not write these tables.
INSERT OR IGNORE INTO meta (name, value) SELECT 'contacts_indexed', COALESCE(MAX(id), 0) FROM contacts;
INSERT OR IGNORE INTO meta (name, value) SELECT 'contacts_old', value FROM meta WHERE name = 'contacts_indexed';
INSERT OR IGNORE INTO meta (name, value) VALUES ('contacts_old_indexed', 0);
UPDATE meta SET value = 39 WHERE name = 'oldest_step' AND value < 39;

-- +goose Down
UPDATE meta SET value = 38 WHERE name = 'oldest_step' AND value = 39;
CREATE INDEX IF NOT EXISTS contacts_channel ON contacts (channel_id);
CREATE INDEX IF NOT EXISTS contacts_done_time ON contacts_done (channel_id, finished_at, id);
DELETE FROM meta WHERE name IN ('contacts_indexed', 'contacts_old', 'contacts_old_indexed');
DROP TABLE IF EXISTS contacts_by_end;
DROP TABLE IF EXISTS contacts_by_channel;
