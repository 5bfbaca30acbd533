-- +goose Up
-- The name of a pilot is that of its survey and a number; here names have no bound.
SELECT 1;

-- +goose Down
SELECT 1;
