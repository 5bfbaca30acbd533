-- +goose Up
CREATE INDEX IF NOT EXISTS audit_subject ON audit (subject);

-- +goose Down
DROP INDEX IF EXISTS audit_subject;
