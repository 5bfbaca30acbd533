-- +goose Up
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id INTEGER NOT NULL,
  status INTEGER NOT NULL,
  disposition TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS survey_sums;
