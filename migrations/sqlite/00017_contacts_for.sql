-- +goose Up
ALTER TABLE contacts ADD COLUMN for_survey INTEGER NOT NULL DEFAULT 0; -- the respondent and its contact, 0: none
ALTER TABLE contacts ADD COLUMN for_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contacts ADD COLUMN for_serial INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE contacts DROP COLUMN for_survey;
ALTER TABLE contacts DROP COLUMN for_id;
ALTER TABLE contacts DROP COLUMN for_serial;
