-- +goose Up
-- The log of a survey.
CREATE TABLE IF NOT EXISTS survey_log (
  survey_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  at BIGINT NOT NULL,
  respondent_id BIGINT NOT NULL,
  event VARCHAR(64) NOT NULL,
  mode VARCHAR(16) NOT NULL,
  channel VARCHAR(255) NOT NULL,
  attempt INT NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  reason VARCHAR(512) NOT NULL DEFAULT '', -- as the provider gave it
  was VARCHAR(32) NOT NULL, -- dispositions
  became VARCHAR(32) NOT NULL,
  PRIMARY KEY (survey_id, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS survey_log;
