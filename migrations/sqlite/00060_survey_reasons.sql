-- +goose Up
-- Why a contact ended as it did: the provider's words, for a survey's log.
ALTER TABLE notices ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE survey_log ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE survey_log DROP COLUMN reason;
ALTER TABLE notices DROP COLUMN reason;
