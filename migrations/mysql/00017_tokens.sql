-- +goose Up
-- Tokens of the API, and sessions of the dashboard. The row of a session goes with the log-out, or after it
-- has expired.
CREATE TABLE IF NOT EXISTS tokens (
  id VARCHAR(32) NOT NULL PRIMARY KEY, -- names it; no secret
  name VARCHAR(200) NOT NULL,
  scopes VARCHAR(500) NOT NULL, -- joined by commas
  hash CHAR(64) NOT NULL, -- SHA-256 of the secret, in hex
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, -- 0: never
  used_at BIGINT NOT NULL, -- 0: never; to about a minute
  revoked_at BIGINT NOT NULL -- 0: it is not. Rows stay: with one, the API is closed
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS sessions (
  id CHAR(64) NOT NULL PRIMARY KEY, -- SHA-256 of the text in the cookie, in hex
  token CHAR(64) NOT NULL, -- the token's id; of a configured one a digest with the text in the cookie
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  KEY sessions_expires (expires_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS sessions;
DROP TABLE IF EXISTS tokens;
