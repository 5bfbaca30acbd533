-- +goose Up
CREATE TABLE IF NOT EXISTS leases (
  channel_id INTEGER NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL, -- empty: free
  epoch INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS leases;
