-- +goose Up
-- What clients changed.
CREATE TABLE IF NOT EXISTS audit (
  id INTEGER NOT NULL PRIMARY KEY, -- in the order of time
  at INTEGER NOT NULL,
  token TEXT NOT NULL, -- id; empty: none was needed
  action TEXT NOT NULL, -- the route's id
  subject TEXT NOT NULL, -- no phone number and no secret
  status INTEGER NOT NULL, -- of the answer
  request TEXT NOT NULL, -- the id that the log has too
  changes TEXT -- JSON: fields before and after, without secrets
) STRICT;
CREATE INDEX IF NOT EXISTS audit_subject ON audit (subject);

-- +goose Down
DROP TABLE IF EXISTS audit;
