-- +goose Up
-- Followed by the id, as every index here: the contacts of a channel in their order.
CREATE INDEX IF NOT EXISTS contacts_channel ON contacts (channel_id);

-- +goose Down
DROP INDEX IF EXISTS contacts_channel;
