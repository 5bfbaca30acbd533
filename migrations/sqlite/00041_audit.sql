-- +goose Up
CREATE TABLE IF NOT EXISTS audit (
  id INTEGER NOT NULL PRIMARY KEY, -- in the order of time
  at INTEGER NOT NULL,
  token TEXT NOT NULL, -- id; empty: none was needed
  action TEXT NOT NULL, -- the route's id
  subject TEXT NOT NULL, -- of what; no number and no secret
  status INTEGER NOT NULL, -- of the answer
  request TEXT NOT NULL -- the id that the log has too
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS audit;
