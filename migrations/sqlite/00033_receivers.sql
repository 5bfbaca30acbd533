-- +goose Up
CREATE TABLE IF NOT EXISTS receivers (
  name TEXT NOT NULL PRIMARY KEY,
  event_id INTEGER NOT NULL -- up to which it has got
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS receivers;
