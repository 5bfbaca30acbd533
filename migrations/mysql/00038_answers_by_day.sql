-- +goose Up
-- Answers are counted by day and language, too. Each answer has under which it is counted, so that a later one takes away
-- what it has added. Of the answers before, neither is known: no language is stored with them, and SQL does not know the
-- zones of surveys. An older program would look for the table of sums, which is created here for a step that is repeated.
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'survey_answers' AND column_name = 'day') = 0,
  'ALTER TABLE survey_answers ADD COLUMN day INT NOT NULL DEFAULT 0, ADD COLUMN language VARCHAR(20) NOT NULL DEFAULT ''''', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
CREATE TABLE IF NOT EXISTS survey_answer_sums (
  survey_id BIGINT NOT NULL,
  question VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL,
  value VARCHAR(64) NOT NULL, -- empty: of all answers of the status
  arm INT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, arm)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS survey_answer_counts (
  survey_id BIGINT NOT NULL,
  question VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL,
  value VARCHAR(64) NOT NULL, -- empty: of all answers of the status
  day INT NOT NULL, -- since 1970, in the zone of the survey; 0: not known
  arm INT NOT NULL,
  language VARCHAR(20) NOT NULL, -- of the conversation; empty: not known
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, day, arm, language)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO survey_answer_counts (survey_id, question, status, value, day, arm, language, n)
  SELECT survey_id, question, status, value, 0, arm, '', n FROM survey_answer_sums;
DROP TABLE IF EXISTS survey_answer_sums;
UPDATE meta SET value = 38 WHERE name = 'oldest_step' AND value < 38;

-- +goose Down
UPDATE meta SET value = 37 WHERE name = 'oldest_step' AND value = 38;
CREATE TABLE IF NOT EXISTS survey_answer_counts (
  survey_id BIGINT NOT NULL,
  question VARCHAR(64) NOT NULL,
  status VARCHAR(16) NOT NULL,
  value VARCHAR(64) NOT NULL, -- empty: of all answers of the status
  day INT NOT NULL, -- since 1970, in the zone of the survey; 0: not known
  arm INT NOT NULL,
  language VARCHAR(20) NOT NULL, -- of the conversation; empty: not known
  n BIGINT NOT NULL,
  PRIMARY KEY (survey_id, question, status, value, day, arm, language)
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
INSERT IGNORE INTO survey_answer_sums (survey_id, question, status, value, arm, n)
  SELECT survey_id, question, status, value, arm, SUM(n) FROM survey_answer_counts GROUP BY survey_id, question, status, value, arm;
DROP TABLE IF EXISTS survey_answer_counts;
SET @weir_step = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'survey_answers' AND column_name = 'day') > 0,
  'ALTER TABLE survey_answers DROP COLUMN day, DROP COLUMN language', 'DO 0');
PREPARE weir_step FROM @weir_step;
EXECUTE weir_step;
DEALLOCATE PREPARE weir_step;
