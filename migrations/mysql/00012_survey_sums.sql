-- +goose Up
-- Figures of surveys, changed with their respondents.
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id BIGINT NOT NULL,
  status TINYINT NOT NULL,
  disposition VARCHAR(32) NOT NULL,
  bucket INT NOT NULL,
  counted TINYINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS survey_attempts (
  survey_id BIGINT NOT NULL,
  mode VARCHAR(16) NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, mode, outcome)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS survey_begun (
  survey_id BIGINT NOT NULL,
  second BIGINT NOT NULL, -- since 1970
  n BIGINT NOT NULL, -- contacts that were enqueued in it
  PRIMARY KEY (survey_id, second)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS survey_begun;
DROP TABLE IF EXISTS survey_attempts;
DROP TABLE IF EXISTS survey_sums;
