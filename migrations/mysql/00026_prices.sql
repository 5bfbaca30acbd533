-- +goose Up
-- What contacts cost, and what was spent: the sum of what the attempts of a channel cost that were claimed on a day, for a survey.
CREATE TABLE IF NOT EXISTS prices (
  channel VARCHAR(64) NOT NULL PRIMARY KEY, -- its name
  rules MEDIUMTEXT NOT NULL, -- JSON
  changed_at BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS spent (
  channel_id BIGINT NOT NULL,
  survey VARCHAR(255) NOT NULL, -- its name; empty: of no survey
  currency VARCHAR(3) NOT NULL,
  day INT NOT NULL, -- since 1970, in UTC
  amount BIGINT NOT NULL, -- millionths of the currency's unit
  PRIMARY KEY (channel_id, survey, currency, day),
  KEY spent_day (day, channel_id, survey)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How often a rule for the sake of the person, or a limit, has ended or delayed contacts.
CREATE TABLE IF NOT EXISTS skipped (
  channel_id BIGINT NOT NULL,
  survey VARCHAR(255) NOT NULL, -- its name; empty: of no survey
  rule_name VARCHAR(63) NOT NULL,
  day INT NOT NULL, -- since 1970, in UTC
  suppressed BIGINT NOT NULL, -- contacts that ended
  waited BIGINT NOT NULL, -- times that a contact began to wait
  PRIMARY KEY (channel_id, survey, rule_name, day),
  KEY skipped_survey (survey, day)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS skipped;
DROP TABLE IF EXISTS spent;
DROP TABLE IF EXISTS prices;
