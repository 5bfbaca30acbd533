-- +goose Up
-- What surveys and channels did, for pages that look back over weeks.
CREATE TABLE IF NOT EXISTS survey_quarters (
  survey_id INTEGER NOT NULL,
  quarter INTEGER NOT NULL, -- of an hour, since 1970
  mode TEXT NOT NULL, -- of the respondents' step; empty: not known
  arm INTEGER NOT NULL,
  started INTEGER NOT NULL, -- respondents who came to it in this quarter
  answered INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  PRIMARY KEY (survey_id, quarter, mode, arm)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS channel_hours (
  channel_id INTEGER NOT NULL,
  hour INTEGER NOT NULL, -- since 1970
  sent INTEGER NOT NULL,
  used INTEGER NOT NULL, -- slots in flight, added up over the minutes
  capacity INTEGER NOT NULL, -- the most of the hour
  PRIMARY KEY (channel_id, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS channel_hours_age ON channel_hours (hour);

-- +goose Down
DROP TABLE IF EXISTS channel_hours;
DROP TABLE IF EXISTS survey_quarters;
