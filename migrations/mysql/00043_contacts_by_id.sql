-- +goose Up
-- InnoDB keeps rows in the order of (channel_id, id) and writes records, not pages.
SELECT 1;

-- +goose Down
SELECT 1;
