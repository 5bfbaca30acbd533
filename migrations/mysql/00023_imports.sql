-- +goose Up
CREATE TABLE IF NOT EXISTS imports (
  id BIGINT NOT NULL,
  survey_id BIGINT NOT NULL,
  state VARCHAR(16) NOT NULL, -- open, committing, committed, aborting, aborted
  touched_at BIGINT NOT NULL,
  done_to BIGINT NOT NULL DEFAULT 0, -- respondents up to this one were shown or removed
  PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS imports;
