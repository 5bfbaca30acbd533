-- +goose Up
CREATE TABLE IF NOT EXISTS contact_journal (
  id INTEGER NOT NULL PRIMARY KEY,
  start_number INTEGER NOT NULL, -- the process that wrote it
  data BLOB NOT NULL -- what became of many contacts
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS contact_journal;
