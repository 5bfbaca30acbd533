-- +goose Up
-- Answers are counted by day and language, too. Each answer has under which it is counted, so that a later one takes away
-- what it has added. Of the answers before, neither is known: no language is stored with them, and SQL does not know the
-- zones of surveys. An older program would look for the table of sums, which is created here for a step that is repeated.
ALTER TABLE survey_answers ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE survey_answers ADD COLUMN language TEXT NOT NULL DEFAULT '';
CREATE TABLE IF NOT EXISTS survey_answer_sums (
  survey_id INTEGER NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  value TEXT NOT NULL, -- empty: of all answers of the status
  arm INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, arm)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS survey_answer_counts (
  survey_id INTEGER NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  value TEXT NOT NULL, -- empty: of all answers of the status
  day INTEGER NOT NULL, -- since 1970, in the zone of the survey; 0: not known
  arm INTEGER NOT NULL,
  language TEXT NOT NULL, -- of the conversation; empty: not known
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, day, arm, language)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO survey_answer_counts (survey_id, question, status, value, day, arm, language, n)
  SELECT survey_id, question, status, value, 0, arm, '', n FROM survey_answer_sums;
DROP TABLE IF EXISTS survey_answer_sums;
UPDATE meta SET value = 38 WHERE name = 'oldest_step' AND value < 38;

-- +goose Down
UPDATE meta SET value = 37 WHERE name = 'oldest_step' AND value = 38;
CREATE TABLE IF NOT EXISTS survey_answer_counts (
  survey_id INTEGER NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  value TEXT NOT NULL, -- empty: of all answers of the status
  day INTEGER NOT NULL, -- since 1970, in the zone of the survey; 0: not known
  arm INTEGER NOT NULL,
  language TEXT NOT NULL, -- of the conversation; empty: not known
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, day, arm, language)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS survey_answer_sums (
  survey_id INTEGER NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  value TEXT NOT NULL, -- empty: of all answers of the status
  arm INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, arm)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO survey_answer_sums (survey_id, question, status, value, arm, n)
  SELECT survey_id, question, status, value, arm, SUM(n) FROM survey_answer_counts GROUP BY survey_id, question, status, value, arm;
DROP TABLE IF EXISTS survey_answer_counts;
ALTER TABLE survey_answers DROP COLUMN day;
ALTER TABLE survey_answers DROP COLUMN language;
