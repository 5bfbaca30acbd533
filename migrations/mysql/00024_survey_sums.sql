-- +goose Up
CREATE TABLE IF NOT EXISTS survey_sums (
  survey_id BIGINT NOT NULL,
  status TINYINT NOT NULL,
  disposition VARCHAR(32) NOT NULL,
  bucket INT NOT NULL,
  counted TINYINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, status, disposition, bucket, counted)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS survey_sums;
