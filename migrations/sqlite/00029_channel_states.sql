-- +goose Up
CREATE TABLE IF NOT EXISTS channel_states (
  channel_id INTEGER NOT NULL PRIMARY KEY,
  health TEXT NOT NULL,
  reason TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS channel_states;
