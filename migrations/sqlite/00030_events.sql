-- +goose Up
CREATE TABLE IF NOT EXISTS events (
  id INTEGER NOT NULL PRIMARY KEY, -- of the last event in it
  at INTEGER NOT NULL, -- when it was written
  payload BLOB NOT NULL -- some events in order, as JSON
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS events;
