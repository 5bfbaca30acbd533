-- +goose Up
CREATE UNIQUE INDEX IF NOT EXISTS dead_letters_contact ON dead_letters (channel_id, contact_id);

-- +goose Down
DROP INDEX IF EXISTS dead_letters_contact;
