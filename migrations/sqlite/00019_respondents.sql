-- +goose Up
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
  lane INTEGER NOT NULL, -- the bucket while it is pending, else 0
  look_at INTEGER NOT NULL, -- the import, or aside_till while pending, or due_at while active
  contact_channel INTEGER NOT NULL DEFAULT 0,
  contact_id INTEGER NOT NULL DEFAULT 0,
  reached_at INTEGER NOT NULL DEFAULT 0,
  added_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  progress TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS respondents;
