-- +goose Up
CREATE TABLE IF NOT EXISTS imports (
  id INTEGER NOT NULL PRIMARY KEY,
  survey_id INTEGER NOT NULL,
  state TEXT NOT NULL, -- open, committing, committed, aborting, aborted
  touched_at INTEGER NOT NULL,
  done_to INTEGER NOT NULL DEFAULT 0 -- respondents up to this one were shown or removed
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS imports;
