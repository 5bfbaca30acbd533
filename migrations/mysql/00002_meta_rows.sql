-- +goose Up
INSERT IGNORE INTO meta (name, value) VALUES ('starts', 0), ('channels', 0);

-- +goose Down
DELETE FROM meta WHERE name IN ('starts', 'channels');
