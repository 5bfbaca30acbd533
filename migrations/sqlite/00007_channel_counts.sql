-- +goose Up
CREATE TABLE IF NOT EXISTS channel_counts (
  channel_id INTEGER NOT NULL PRIMARY KEY,
  queued INTEGER NOT NULL -- queued and delayed contacts
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS channel_counts;
