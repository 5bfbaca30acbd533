-- +goose Up
CREATE INDEX IF NOT EXISTS respondents_survey ON respondents (survey_id, id);

-- +goose Down
DROP INDEX IF EXISTS respondents_survey;
