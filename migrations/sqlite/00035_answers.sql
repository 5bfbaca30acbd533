-- +goose Up
-- What respondents answered to the questions of surveys, and how many answers there are.
CREATE TABLE IF NOT EXISTS survey_answers (
  survey_id INTEGER NOT NULL,
  respondent_id INTEGER NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  value TEXT NOT NULL, -- as XLSForm stores it
  raw TEXT NOT NULL, -- the beginning of what the person wrote
  turn INTEGER NOT NULL, -- of the conversation that followed
  at INTEGER NOT NULL,
  PRIMARY KEY (survey_id, respondent_id, question)
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

-- +goose Down
DROP TABLE IF EXISTS survey_answer_sums;
DROP TABLE IF EXISTS survey_answers;
