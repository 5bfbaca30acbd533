-- +goose Up
-- Tokens of the API, and sessions of the dashboard. The row of a session goes with the log-out, or after it
-- has expired.
CREATE TABLE IF NOT EXISTS tokens (
  id TEXT NOT NULL PRIMARY KEY, -- names it; no secret
  name TEXT NOT NULL,
  scopes TEXT NOT NULL, -- joined by commas
  hash TEXT NOT NULL, -- SHA-256 of the secret, in hex
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- 0: never
  used_at INTEGER NOT NULL, -- 0: never; to about a minute
  revoked_at INTEGER NOT NULL -- 0: it is not. Rows stay: with one, the API is closed
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sessions (
  id TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the text in the cookie, in hex
  token TEXT NOT NULL, -- the token's id; of a configured one a digest with the text in the cookie
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_expires ON sessions (expires_at);

-- +goose Down
DROP TABLE IF EXISTS sessions;
DROP TABLE IF EXISTS tokens;
