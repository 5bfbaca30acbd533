-- +goose Up
CREATE TABLE IF NOT EXISTS notices (
  id INTEGER NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  contact_id INTEGER NOT NULL,
  survey_id INTEGER NOT NULL,
  respondent_id INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  message TEXT NOT NULL -- what came in, as JSON
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS notices;
