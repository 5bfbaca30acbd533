-- +goose Up
-- Dead letters, and the contacts that were made from them.
CREATE TABLE IF NOT EXISTS dead_letters (
  channel_id INTEGER NOT NULL,
  id INTEGER NOT NULL, -- in the order of time, which it holds
  contact_id INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL, -- by which they are grouped
  PRIMARY KEY (channel_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS dead_letters_contact ON dead_letters (channel_id, contact_id);
CREATE INDEX IF NOT EXISTS dead_letters_group ON dead_letters (channel_id, outcome, reason, id);

CREATE TABLE IF NOT EXISTS requeues (
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL, -- the dead letter
  new_id INTEGER NOT NULL, -- the contact that was made from it
  at INTEGER NOT NULL,
  token TEXT NOT NULL, -- id of the token that asked for it
  PRIMARY KEY (channel_id, contact_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS requeues;
DROP TABLE IF EXISTS dead_letters;
