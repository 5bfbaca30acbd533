-- +goose Up
CREATE TABLE IF NOT EXISTS survey_begun (
  survey_id BIGINT NOT NULL,
  second BIGINT NOT NULL, -- since 1970
  n BIGINT NOT NULL, -- contacts that were enqueued in it
  PRIMARY KEY (survey_id, second)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS survey_begun;
