-- +goose Up
CREATE INDEX IF NOT EXISTS contacts_queue ON contacts (channel_id, state, lane, pos);

-- +goose Down
DROP INDEX IF EXISTS contacts_queue;
