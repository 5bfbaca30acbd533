-- +goose Up
CREATE TABLE IF NOT EXISTS channels (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT UNIQUE, -- NULL once deleted
  former_name TEXT NOT NULL,
  type TEXT NOT NULL,
  title TEXT NOT NULL,
  capacity INTEGER NOT NULL,
  paused INTEGER NOT NULL,
  settings TEXT NOT NULL,
  secret TEXT NOT NULL,
  version INTEGER NOT NULL,
  deleting INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS channels;
