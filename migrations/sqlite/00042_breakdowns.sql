-- +goose Up
-- Answers of surveys are counted by attribute, too. An older program would not count them.
CREATE TABLE IF NOT EXISTS survey_answer_breakdowns (
  survey_id INTEGER NOT NULL,
  breakdown INTEGER NOT NULL, -- place of the attribute in the definition, from 0
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  value TEXT NOT NULL, -- empty: of all answers of the status
  place INTEGER NOT NULL, -- of the attribute's value in its list, from 1; 0: no value, -1: another one
  arm INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, breakdown, question, status, value, place, arm)
) STRICT, WITHOUT ROWID;
UPDATE meta SET value = 42 WHERE name = 'oldest_step' AND value < 42;

-- +goose Down
-- What was counted is not counted again by a later step up: SQL does not know the places of values.
UPDATE meta SET value = 39 WHERE name = 'oldest_step' AND value = 42;
DROP TABLE IF EXISTS survey_answer_breakdowns;
