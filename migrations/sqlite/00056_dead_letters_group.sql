-- +goose Up
CREATE INDEX IF NOT EXISTS dead_letters_group ON dead_letters (channel_id, outcome, reason, id);

-- +goose Down
DROP INDEX IF EXISTS dead_letters_group;
