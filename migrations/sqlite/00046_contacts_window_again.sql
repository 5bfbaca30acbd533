-- +goose Up
CREATE INDEX IF NOT EXISTS contacts_window ON contacts (channel_id, expire_at) WHERE expire_at IS NOT NULL;

-- +goose Down
DROP INDEX IF EXISTS contacts_window;
