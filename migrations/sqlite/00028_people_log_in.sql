-- +goose Up
-- People who log in by name: whose session it is.
CREATE TABLE IF NOT EXISTS session_people (
  session_id TEXT NOT NULL PRIMARY KEY,
  person TEXT NOT NULL, -- its id in the audit log
  held TEXT NOT NULL -- the groups that had scopes, joined by semicolons
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS session_people;
