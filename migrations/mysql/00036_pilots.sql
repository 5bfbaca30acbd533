-- +goose Up
-- The name of a pilot is that of its survey and a number.
ALTER TABLE surveys MODIFY name VARCHAR(80) NULL, MODIFY former_name VARCHAR(80) NOT NULL;

-- +goose Down
-- Names of pilots are too long for what was before; wider columns do no harm to it.
SELECT 1;
