-- +goose Up
-- The log of a survey.
CREATE TABLE IF NOT EXISTS survey_log (
  survey_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  respondent_id INTEGER NOT NULL,
  event TEXT NOT NULL,
  mode TEXT NOT NULL,
  channel TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '', -- as the provider gave it
  was TEXT NOT NULL, -- dispositions
  became TEXT NOT NULL,
  PRIMARY KEY (survey_id, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS survey_log;
