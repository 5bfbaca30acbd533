-- +goose Up
-- Roles that one process has at a time.
CREATE TABLE IF NOT EXISTS roles (
  name VARCHAR(63) NOT NULL PRIMARY KEY,
  owner VARCHAR(191) NOT NULL, -- empty: free
  epoch BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO roles (name, owner, epoch, expires_at) VALUES ('surveys', '', 0, 0), ('router', '', 0, 0), ('delivery', '', 0, 0);

-- +goose Down
DROP TABLE IF EXISTS roles;
