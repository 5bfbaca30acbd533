-- +goose Up
CREATE UNIQUE INDEX IF NOT EXISTS contacts_key ON contacts (channel_id, ckey) WHERE ckey IS NOT NULL;

-- +goose Down
DROP INDEX IF EXISTS contacts_key;
