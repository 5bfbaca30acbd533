-- +goose Up
CREATE INDEX IF NOT EXISTS channel_minutes_age ON channel_minutes (minute);

-- +goose Down
DROP INDEX IF EXISTS channel_minutes_age;
