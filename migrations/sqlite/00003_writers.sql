-- +goose Up
CREATE TABLE IF NOT EXISTS writers (
  start_number INTEGER NOT NULL PRIMARY KEY, -- which start of which process, from meta
  owner TEXT NOT NULL,
  batch INTEGER NOT NULL -- the last one that was committed
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS writers;
