-- +goose Up
-- Items for the process that runs a channel, from the others.
CREATE TABLE IF NOT EXISTS inbox (
  id INTEGER NOT NULL PRIMARY KEY,
  channel_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  payload BLOB NOT NULL,
  wake INTEGER -- 1 for a wake item, one for each channel; otherwise NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS inbox_wake ON inbox (channel_id, wake);

-- +goose Down
DROP TABLE IF EXISTS inbox;
