-- +goose Up
-- What surveys and channels did, for pages that look back over weeks.
CREATE TABLE IF NOT EXISTS survey_quarters (
  survey_id BIGINT NOT NULL,
  quarter INT NOT NULL, -- of an hour, since 1970
  mode VARCHAR(16) NOT NULL, -- of the respondents' step; empty: not known
  arm INT NOT NULL,
  started INT NOT NULL, -- respondents who came to it in this quarter
  answered INT NOT NULL,
  completed INT NOT NULL,
  PRIMARY KEY (survey_id, quarter, mode, arm)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS channel_hours (
  channel_id BIGINT NOT NULL,
  hour INT NOT NULL, -- since 1970
  sent BIGINT NOT NULL,
  used BIGINT NOT NULL, -- slots in flight, added up over the minutes
  capacity INT NOT NULL, -- the most of the hour
  PRIMARY KEY (channel_id, hour),
  KEY channel_hours_age (hour)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS channel_hours;
DROP TABLE IF EXISTS survey_quarters;
