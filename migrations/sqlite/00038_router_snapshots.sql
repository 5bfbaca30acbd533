-- +goose Up
CREATE TABLE IF NOT EXISTS router_snapshots (
  snapshot INTEGER NOT NULL,
  part INTEGER NOT NULL, -- from 0
  data BLOB NOT NULL,
  PRIMARY KEY (snapshot, part)
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS router_snapshots;
