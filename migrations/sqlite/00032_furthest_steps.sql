-- +goose Up
-- Respondents are counted by the furthest step, too, which a refusal leaves as it is. All counts are made anew, so that a
-- step that was interrupted can be repeated.
DROP TABLE IF EXISTS survey_sums;
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id INTEGER NOT NULL,
  status INTEGER NOT NULL,
  disposition TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  furthest TEXT NOT NULL, -- step of the funnel
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted, furthest)
) STRICT, WITHOUT ROWID;
INSERT INTO survey_sums (survey_id, status, disposition, bucket, counted, furthest, n)
SELECT survey_id, status, disposition, bucket, counted, CASE
  WHEN disposition = 'completed' THEN 'completed'
  WHEN disposition IN ('partial', 'interim partial') THEN 'interim partial'
  WHEN disposition IN ('started', 'breakoff', 'ineligible') THEN 'started'
  WHEN disposition IN ('contacted', 'unresponsive') OR reached_at <> 0 THEN 'contacted'
  WHEN disposition = 'queued' OR started_at <> 0 THEN 'queued'
  ELSE 'registered' END AS furthest, COUNT(*)
FROM respondents WHERE status <> 0 GROUP BY survey_id, status, disposition, bucket, counted, furthest;

-- +goose Down
DROP TABLE IF EXISTS survey_sums;
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id INTEGER NOT NULL,
  status INTEGER NOT NULL,
  disposition TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted)
) STRICT, WITHOUT ROWID;
INSERT INTO survey_sums (survey_id, status, disposition, bucket, counted, n)
SELECT survey_id, status, disposition, bucket, counted, COUNT(*)
FROM respondents WHERE status <> 0 GROUP BY survey_id, status, disposition, bucket, counted;
