-- +goose Up
CREATE TABLE IF NOT EXISTS tokens (
  id VARCHAR(32) NOT NULL PRIMARY KEY, -- names it; no secret
  name VARCHAR(200) NOT NULL,
  scopes VARCHAR(500) NOT NULL, -- joined by commas
  hash CHAR(64) NOT NULL, -- SHA-256 of the text that proves it, in hex
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, -- 0: never
  used_at BIGINT NOT NULL, -- 0: never; to about a minute
  revoked_at BIGINT NOT NULL -- 0: it is not. Rows stay: with one, the API is closed
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS tokens;
