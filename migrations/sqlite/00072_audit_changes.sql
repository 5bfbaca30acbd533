-- +goose Up
ALTER TABLE audit ADD COLUMN changes TEXT; -- JSON: fields before and after, without secrets

-- +goose Down
ALTER TABLE audit DROP COLUMN changes;
