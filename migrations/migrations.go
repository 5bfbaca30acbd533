// Package migrations holds the schema of the store, one folder for each SQL
// dialect. The same number means the same step in every folder. A step is one
// DDL statement: MySQL cannot take back half a step.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed sqlite/*.sql mysql/*.sql
var files embed.FS

// For gives the steps of one dialect.
func For(folder string) (fs.FS, error) { return fs.Sub(files, folder) }
