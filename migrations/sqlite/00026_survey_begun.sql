-- +goose Up
CREATE TABLE IF NOT EXISTS survey_begun (
  survey_id INTEGER NOT NULL,
  second INTEGER NOT NULL, -- since 1970
  n INTEGER NOT NULL, -- contacts that were enqueued in it
  PRIMARY KEY (survey_id, second)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS survey_begun;
