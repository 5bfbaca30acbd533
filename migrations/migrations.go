// Package migrations holds the schema of the store, one folder for each SQL
// dialect. The same number means the same step in every folder. Each statement of a
// step can be repeated: MySQL commits each by itself, and a step that broke off is
// taken again.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed sqlite/*.sql mysql/*.sql
var files embed.FS

// For gives the steps of one dialect.
func For(folder string) (fs.FS, error) { return fs.Sub(files, folder) }
