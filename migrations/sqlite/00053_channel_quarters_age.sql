-- +goose Up
CREATE INDEX IF NOT EXISTS channel_quarters_age ON channel_quarters (minute);

-- +goose Down
DROP INDEX IF EXISTS channel_quarters_age;
