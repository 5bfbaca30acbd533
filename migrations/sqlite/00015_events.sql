-- +goose Up
-- The log of events, and how far each receiver has got.
CREATE TABLE IF NOT EXISTS events (
  id INTEGER NOT NULL PRIMARY KEY, -- of the last event in it
  at INTEGER NOT NULL, -- when it was written
  payload BLOB NOT NULL -- some events in order, as JSON
) STRICT;

CREATE TABLE IF NOT EXISTS receivers (
  name TEXT NOT NULL PRIMARY KEY,
  event_id INTEGER NOT NULL -- the last one that was received
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS deliveries (
  receiver TEXT NOT NULL,
  event_id INTEGER NOT NULL,
  subject TEXT NOT NULL, -- events with the same one stay in order
  tries INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  PRIMARY KEY (receiver, event_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS deliveries;
DROP TABLE IF EXISTS receivers;
DROP TABLE IF EXISTS events;
