-- +goose Up
CREATE TABLE IF NOT EXISTS router_journal (
  first_seq INTEGER NOT NULL PRIMARY KEY,
  last_seq INTEGER NOT NULL,
  data BLOB NOT NULL -- many events
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS router_journal;
