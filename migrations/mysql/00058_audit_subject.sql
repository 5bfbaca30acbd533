-- +goose Up
CREATE INDEX audit_subject ON audit (subject);

-- +goose Down
DROP INDEX audit_subject ON audit;
