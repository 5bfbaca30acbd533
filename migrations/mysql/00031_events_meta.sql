-- +goose Up
INSERT IGNORE INTO meta (name, value) VALUES ('events', 0);

-- +goose Down
DELETE FROM meta WHERE name = 'events';
