-- +goose Up
CREATE TABLE IF NOT EXISTS survey_attempts (
  survey_id BIGINT NOT NULL,
  mode VARCHAR(16) NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, mode, outcome)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS survey_attempts;
