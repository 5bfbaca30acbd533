-- +goose Up
CREATE INDEX IF NOT EXISTS respondents_queue ON respondents (survey_id, status, lane, look_at, id);

-- +goose Down
DROP INDEX IF EXISTS respondents_queue;
