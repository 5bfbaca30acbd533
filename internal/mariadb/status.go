package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Watcher reads the statement counters of a server.
type Watcher struct{ db *sql.DB }

// Watch connects to a server at an address in the form of [Server.Address].
func Watch(address string) (*Watcher, error) {
	db, err := Open(address)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // the statements that set up a connection are counted once
	return &Watcher{db}, nil
}

// Close closes the connection.
func (w *Watcher) Close() error { return w.db.Close() }

// Work counts a server's work since its start.
type Work struct {
	Statements float64 // including those of the watcher, one for each reading
	Commits    float64 // COMMIT statements
	Redo       float64 // bytes written to the redo log
}

// Done returns the counts.
func (w *Watcher) Done(ctx context.Context) (Work, error) {
	var done Work
	rows, err := w.db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Com_commit', 'Innodb_os_log_written')")
	if err != nil {
		return done, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var value float64
		if err := rows.Scan(&name, &value); err != nil {
			return done, err
		}
		switch name {
		case "Questions":
			done.Statements = value
		case "Com_commit":
			done.Commits = value
		default:
			done.Redo = value
		}
	}
	return done, rows.Err()
}

// CreateDatabase creates an empty database and returns its DATABASE_URL.
func CreateDatabase(ctx context.Context, address, name string) (url string, err error) {
	if strings.ContainsAny(name, "`/?") {
		return "", errors.New("not a name of a database")
	}
	scheme, rest, ok := strings.Cut(address, "://")
	account, place, found := cutLast(rest, "@")
	if !ok || !found {
		return "", errors.New("the address of a MySQL server must look like mysql://user:password@host:port")
	}
	host, _, _ := strings.Cut(place, "/")
	return scheme + "://" + account + "@" + host + "/" + name, execute(ctx, address, "CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
}

// DropDatabase removes a database.
func DropDatabase(ctx context.Context, address, name string) error {
	return execute(ctx, address, "DROP DATABASE IF EXISTS `"+name+"`")
}

func execute(ctx context.Context, address, statement string) error {
	db, err := Open(address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("the database server: %w", err)
	}
	return nil
}
