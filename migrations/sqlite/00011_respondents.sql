-- +goose Up
-- Respondents of surveys, and imports that add many of them.
CREATE TABLE IF NOT EXISTS respondents (
  id INTEGER NOT NULL PRIMARY KEY,
  survey_id INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  phone TEXT NOT NULL,
  attributes TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  status INTEGER NOT NULL, -- 0: of an import that is not committed
  disposition TEXT NOT NULL,
  counted INTEGER NOT NULL,
  lane INTEGER NOT NULL, -- the bucket while it is pending, otherwise 0
  next_at INTEGER NOT NULL, -- the import, or while pending: delayed until, or while active: due at
  contact_channel INTEGER NOT NULL DEFAULT 0,
  contact_id INTEGER NOT NULL DEFAULT 0,
  reached_at INTEGER NOT NULL DEFAULT 0,
  added_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  progress TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS respondents_phone ON respondents (phone, survey_id);
CREATE INDEX IF NOT EXISTS respondents_queue ON respondents (survey_id, status, lane, next_at, id);
CREATE INDEX IF NOT EXISTS respondents_survey ON respondents (survey_id, id);

CREATE TABLE IF NOT EXISTS imports (
  id INTEGER NOT NULL PRIMARY KEY,
  survey_id INTEGER NOT NULL,
  state TEXT NOT NULL, -- open, committing, committed, aborting, aborted
  touched_at INTEGER NOT NULL,
  done_to INTEGER NOT NULL DEFAULT 0 -- respondents up to this one were shown or removed
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS imports;
DROP TABLE IF EXISTS respondents;
