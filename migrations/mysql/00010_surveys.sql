-- +goose Up
-- Surveys.
CREATE TABLE IF NOT EXISTS surveys (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(63) NULL, -- NULL once it is being deleted
  former_name VARCHAR(63) NOT NULL,
  title VARCHAR(1000) NOT NULL,
  state VARCHAR(16) NOT NULL,
  cause VARCHAR(16) NOT NULL,
  definition LONGTEXT NOT NULL,
  quotas MEDIUMTEXT NOT NULL, -- a part of the definition, which may be long
  application TEXT NOT NULL,
  locked TINYINT NOT NULL, -- users change nothing but this
  version BIGINT NOT NULL,
  deleting TINYINT NOT NULL,
  bucketed_to BIGINT NULL, -- respondents up to this one have their buckets, or are removed; NULL: all, or none
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  launched_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  UNIQUE KEY surveys_name (name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS surveys;
