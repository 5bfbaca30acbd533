-- +goose Up
CREATE UNIQUE INDEX IF NOT EXISTS respondents_phone ON respondents (phone, survey_id);

-- +goose Down
DROP INDEX IF EXISTS respondents_phone;
