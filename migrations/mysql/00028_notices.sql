-- +goose Up
CREATE TABLE IF NOT EXISTS notices (
  id BIGINT NOT NULL,
  kind VARCHAR(16) NOT NULL,
  at BIGINT NOT NULL,
  channel_id BIGINT NOT NULL,
  contact_id BIGINT NOT NULL,
  survey_id BIGINT NOT NULL,
  respondent_id BIGINT NOT NULL,
  serial INT NOT NULL,
  outcome VARCHAR(32) NOT NULL,
  message MEDIUMTEXT NOT NULL, -- what came in, as JSON
  PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS notices;
