-- +goose Up
-- Log-ins to the dashboard. The row goes with the log-out, or after it has expired.
CREATE TABLE IF NOT EXISTS sessions (
  id CHAR(64) NOT NULL PRIMARY KEY, -- SHA-256 of the text in the cookie, in hex
  token CHAR(64) NOT NULL, -- the token's id; of a configured one a digest with the text in the cookie
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  KEY sessions_expires (expires_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS sessions;
