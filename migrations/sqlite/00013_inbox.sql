-- +goose Up
CREATE TABLE IF NOT EXISTS inbox (
  id INTEGER NOT NULL PRIMARY KEY,
  channel_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  payload BLOB NOT NULL,
  wake INTEGER, -- 1 for a wake item, else NULL: one for each channel
  UNIQUE (channel_id, wake)
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS inbox;
