-- +goose Up
-- Respondents of surveys, and imports that add many of them.
CREATE TABLE IF NOT EXISTS respondents (
  id BIGINT NOT NULL PRIMARY KEY,
  survey_id BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  phone VARCHAR(64) NOT NULL,
  attributes MEDIUMTEXT NOT NULL,
  bucket INT NOT NULL,
  status TINYINT NOT NULL, -- 0: of an import that is not committed
  disposition VARCHAR(32) NOT NULL,
  counted TINYINT NOT NULL,
  lane INT NOT NULL, -- the bucket while it is pending, otherwise 0
  next_at BIGINT NOT NULL, -- the import, or while pending: delayed until, or while active: due at
  contact_channel BIGINT NOT NULL DEFAULT 0,
  contact_id BIGINT NOT NULL DEFAULT 0,
  reached_at BIGINT NOT NULL DEFAULT 0,
  added_at BIGINT NOT NULL,
  started_at BIGINT NOT NULL DEFAULT 0,
  finished_at BIGINT NOT NULL DEFAULT 0,
  progress VARCHAR(1000) NOT NULL,
  UNIQUE KEY respondents_phone (phone, survey_id),
  KEY respondents_queue (survey_id, status, lane, next_at, id),
  KEY respondents_survey (survey_id, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS imports (
  id BIGINT NOT NULL PRIMARY KEY,
  survey_id BIGINT NOT NULL,
  state VARCHAR(16) NOT NULL, -- open, committing, committed, aborting, aborted
  touched_at BIGINT NOT NULL,
  done_to BIGINT NOT NULL DEFAULT 0 -- respondents up to this one were shown or removed
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS imports;
DROP TABLE IF EXISTS respondents;
