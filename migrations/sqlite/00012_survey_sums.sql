-- +goose Up
-- Figures of surveys, changed with their respondents.
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id INTEGER NOT NULL,
  status INTEGER NOT NULL,
  disposition TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS survey_attempts (
  survey_id INTEGER NOT NULL,
  mode TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, mode, outcome)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS survey_begun (
  survey_id INTEGER NOT NULL,
  second INTEGER NOT NULL, -- since 1970
  n INTEGER NOT NULL, -- contacts that were enqueued in it
  PRIMARY KEY (survey_id, second)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS survey_begun;
DROP TABLE IF EXISTS survey_attempts;
DROP TABLE IF EXISTS survey_sums;
