-- +goose Up
-- Counters of the database.
CREATE TABLE IF NOT EXISTS meta (
  name TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO meta (name, value) VALUES ('starts', 0), ('channels', 0), ('events', 0);

-- +goose Down
DROP TABLE IF EXISTS meta;
