-- +goose Up
INSERT OR IGNORE INTO roles (name, owner, epoch, expires_at) VALUES ('delivery', '', 0, 0);

-- +goose Down
DELETE FROM roles WHERE name = 'delivery';
