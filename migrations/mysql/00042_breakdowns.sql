-- +goose Up
-- Answers of surveys are counted by attribute, too. An older program would not count them.
CREATE TABLE IF NOT EXISTS survey_answer_breakdowns (
  survey_id BIGINT NOT NULL,
  breakdown INT NOT NULL, -- place of the attribute in the definition, from 0
  question VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL,
  value VARCHAR(64) NOT NULL, -- empty: of all answers of the status
  place INT NOT NULL, -- of the attribute's value in its list, from 1; 0: no value, -1: another one
  arm INT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, breakdown, question, status, value, place, arm)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
UPDATE meta SET value = 42 WHERE name = 'oldest_step' AND value < 42;

-- +goose Down
-- What was counted is not counted again by a later step up: SQL does not know the places of values.
UPDATE meta SET value = 38 WHERE name = 'oldest_step' AND value = 42;
DROP TABLE IF EXISTS survey_answer_breakdowns;
