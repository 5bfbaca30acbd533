-- +goose Up
-- Log-ins to the dashboard. The row goes with the log-out, or after it has expired.
CREATE TABLE IF NOT EXISTS sessions (
  id TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the text in the cookie, in hex
  token TEXT NOT NULL, -- the token's id; of a configured one a digest with the text in the cookie
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_expires ON sessions (expires_at);

-- +goose Down
DROP TABLE IF EXISTS sessions;
