-- +goose Up
CREATE TABLE IF NOT EXISTS survey_attempts (
  survey_id INTEGER NOT NULL,
  mode TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, mode, outcome)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS survey_attempts;
