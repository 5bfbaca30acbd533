-- +goose Up
-- Channels and their counters.
CREATE TABLE IF NOT EXISTS channels (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT, -- NULL once deleted
  former_name TEXT NOT NULL,
  type TEXT NOT NULL,
  title TEXT NOT NULL,
  capacity INTEGER, -- NULL: DEFAULT_CHANNEL_CAPACITY
  paused INTEGER NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT NOT NULL,
  version INTEGER NOT NULL,
  deleting INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS channels_name ON channels (name);
CREATE INDEX IF NOT EXISTS channels_former_name ON channels (former_name);

CREATE TABLE IF NOT EXISTS channel_counts (
  channel_id INTEGER NOT NULL PRIMARY KEY,
  queued INTEGER NOT NULL, -- contacts that are queued or delayed
  in_flight INTEGER NOT NULL -- contacts that are sending, active or unknown
) STRICT;

CREATE TABLE IF NOT EXISTS channel_states (
  channel_id INTEGER NOT NULL PRIMARY KEY,
  health TEXT NOT NULL,
  reason TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS channel_states;
DROP TABLE IF EXISTS channel_counts;
DROP TABLE IF EXISTS channels;
