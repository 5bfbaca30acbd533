-- +goose Up
-- Surveys.
CREATE TABLE IF NOT EXISTS surveys (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT, -- NULL once it is being deleted
  former_name TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  cause TEXT NOT NULL,
  definition TEXT NOT NULL,
  quotas TEXT NOT NULL, -- a part of the definition, which may be long
  application TEXT NOT NULL,
  locked INTEGER NOT NULL, -- users change nothing but this
  version INTEGER NOT NULL,
  deleting INTEGER NOT NULL,
  bucketed_to INTEGER, -- respondents up to this one have their buckets, or are removed; NULL: all, or none
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  launched_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS surveys_name ON surveys (name);

-- +goose Down
DROP TABLE IF EXISTS surveys;
