-- +goose Up
-- Respondents are counted by the furthest step, too, which a refusal leaves as it is. All counts are made anew, so that a
-- step that was interrupted can be repeated.
DROP TABLE IF EXISTS survey_sums;
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id BIGINT NOT NULL,
  status TINYINT NOT NULL,
  disposition VARCHAR(32) NOT NULL,
  bucket INT NOT NULL,
  counted TINYINT NOT NULL,
  furthest VARCHAR(32) NOT NULL, -- step of the funnel
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted, furthest)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
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
  survey_id BIGINT NOT NULL,
  status TINYINT NOT NULL,
  disposition VARCHAR(32) NOT NULL,
  bucket INT NOT NULL,
  counted TINYINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO survey_sums (survey_id, status, disposition, bucket, counted, n)
SELECT survey_id, status, disposition, bucket, counted, COUNT(*)
FROM respondents WHERE status <> 0 GROUP BY survey_id, status, disposition, bucket, counted;
