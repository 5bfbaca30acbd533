-- +goose Up
CREATE TABLE IF NOT EXISTS tokens (
  id TEXT NOT NULL PRIMARY KEY, -- names it; no secret
  name TEXT NOT NULL,
  scopes TEXT NOT NULL, -- joined by commas
  hash TEXT NOT NULL, -- SHA-256 of the text that proves it, in hex
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- 0: never
  used_at INTEGER NOT NULL, -- 0: never; to about a minute
  revoked_at INTEGER NOT NULL -- 0: it is not. Rows stay: with one, the API is closed
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS tokens;
