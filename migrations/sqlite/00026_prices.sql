-- +goose Up
-- What contacts cost, and what was spent: the sum of what the attempts of a channel cost that were claimed on a day, for a survey.
CREATE TABLE IF NOT EXISTS prices (
  channel TEXT NOT NULL PRIMARY KEY, -- its name
  rules TEXT NOT NULL, -- JSON
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS spent (
  channel_id INTEGER NOT NULL,
  survey TEXT NOT NULL, -- its name; empty: of no survey
  currency TEXT NOT NULL,
  day INTEGER NOT NULL, -- since 1970, in UTC
  amount INTEGER NOT NULL, -- millionths of the currency's unit
  PRIMARY KEY (channel_id, survey, currency, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS spent_day ON spent (day, channel_id, survey);

-- How often a rule for the sake of the person, or a limit, has ended or delayed contacts.
CREATE TABLE IF NOT EXISTS skipped (
  channel_id INTEGER NOT NULL,
  survey TEXT NOT NULL, -- its name; empty: of no survey
  rule_name TEXT NOT NULL,
  day INTEGER NOT NULL, -- since 1970, in UTC
  suppressed INTEGER NOT NULL, -- contacts that ended
  waited INTEGER NOT NULL, -- times that a contact began to wait
  PRIMARY KEY (channel_id, survey, rule_name, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS skipped_survey ON skipped (survey, day);

-- +goose Down
DROP TABLE IF EXISTS skipped;
DROP TABLE IF EXISTS spent;
DROP TABLE IF EXISTS prices;
