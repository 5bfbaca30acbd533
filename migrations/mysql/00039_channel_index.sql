-- +goose Up
-- SQLite writes the indexes that begin with the channel later, many rows at a time. Here they stay: InnoDB writes changes
-- of rows to its log, and no whole pages.
DO 0;

-- +goose Down
DO 0;
