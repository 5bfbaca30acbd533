-- +goose Up
-- What clients changed.
CREATE TABLE IF NOT EXISTS audit (
  id BIGINT NOT NULL PRIMARY KEY, -- in the order of time
  at BIGINT NOT NULL,
  token VARCHAR(32) NOT NULL, -- id; empty: none was needed
  action VARCHAR(64) NOT NULL, -- the route's id
  subject VARCHAR(255) NOT NULL, -- no phone number and no secret
  status BIGINT NOT NULL, -- of the answer
  request VARCHAR(64) NOT NULL, -- the id that the log has too
  changes MEDIUMTEXT NULL, -- JSON: fields before and after, without secrets
  KEY audit_subject (subject)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS audit;
