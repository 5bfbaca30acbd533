-- +goose Up
-- Roles that one process has at a time.
CREATE TABLE IF NOT EXISTS roles (
  name TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL, -- empty: free
  epoch INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO roles (name, owner, epoch, expires_at) VALUES ('surveys', '', 0, 0), ('router', '', 0, 0), ('delivery', '', 0, 0);

-- +goose Down
DROP TABLE IF EXISTS roles;
