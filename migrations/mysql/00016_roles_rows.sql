-- +goose Up
INSERT IGNORE INTO roles (name, owner, epoch, expires_at) VALUES ('surveys', '', 0, 0), ('router', '', 0, 0);

-- +goose Down
DELETE FROM roles;
