-- +goose Up
CREATE TABLE IF NOT EXISTS requeues (
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL, -- that was a dead letter
  new_id INTEGER NOT NULL, -- the contact that was made of it
  at INTEGER NOT NULL,
  token TEXT NOT NULL, -- who asked for it, by id
  PRIMARY KEY (channel_id, contact_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS requeues;
