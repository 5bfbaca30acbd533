-- +goose Up
CREATE INDEX IF NOT EXISTS channels_former_name ON channels (former_name);

-- +goose Down
DROP INDEX IF EXISTS channels_former_name;
