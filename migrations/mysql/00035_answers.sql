-- +goose Up
-- What respondents answered to the questions of surveys, and how many answers there are.
CREATE TABLE IF NOT EXISTS survey_answers (
  survey_id BIGINT NOT NULL,
  respondent_id BIGINT NOT NULL,
  question VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL,
  value TEXT NOT NULL, -- as XLSForm stores it
  raw TEXT NOT NULL, -- the beginning of what the person wrote
  turn INT NOT NULL, -- of the conversation that followed
  at BIGINT NOT NULL,
  PRIMARY KEY (survey_id, respondent_id, question)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS survey_answer_sums (
  survey_id BIGINT NOT NULL,
  question VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL,
  value VARCHAR(64) NOT NULL, -- empty: of all answers of the status
  arm INT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, arm)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS survey_answer_sums;
DROP TABLE IF EXISTS survey_answers;
