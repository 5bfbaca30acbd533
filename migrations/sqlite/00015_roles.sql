-- +goose Up
CREATE TABLE IF NOT EXISTS roles (
  name TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL, -- empty: free
  epoch INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS roles;
