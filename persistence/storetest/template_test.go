package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

// The script that most tests start from makes the same database as the migrations.
func TestTemplate_MakesWhatTheMigrationsMake(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{
		"memory": func(testing.TB) string { return "sqlite://:memory:" },
		"sqlite": func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "weir.db") },
		"mysql":  testmysql.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, steps := openOn(t, url(t), persistence.Options{})
			if err := store.MigrateUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			store, first := openOn(t, url(t), persistence.Options{})
			migrate(t, store, first) // writes the script, if it does not exist yet
			file, err := scriptFile(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); err != nil {
				t.Fatal(err)
			}
			store, script := openOn(t, url(t), persistence.Options{})
			migrate(t, store, script)
			if d := cmp.Diff(everything(t, steps), everything(t, script)); d != "" {
				t.Errorf("the script makes another database (-steps +script):\n%s", d)
			}
			if pending, err := store.Pending(t.Context()); err != nil || pending != 0 {
				t.Errorf("%d steps are still to be taken (%v)", pending, err)
			}
		})
	}
}

// everything returns a database's own description of its schema, and all rows; the
// times of the migrations are left out.
func everything(t *testing.T, db dialect.Database) map[string][]string {
	t.Helper()
	queries := map[string]string{"schema": "SELECT CONCAT_WS(' ', type, name, tbl_name, sql) FROM sqlite_schema ORDER BY 1"}
	if folder, _ := db.Migrations(); folder == "mysql" {
		queries = map[string]string{
			"tables":      "SELECT CONCAT_WS(' ', table_name, table_type, engine, row_format, table_collation, create_options) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
			"columns":     "SELECT CONCAT_WS(' ', table_name, ordinal_position, column_name, column_type, COALESCE(column_default, '-'), is_nullable, COALESCE(collation_name, '-'), extra, COALESCE(generation_expression, '-')) FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1",
			"indexes":     "SELECT CONCAT_WS(' ', table_name, index_name, non_unique, seq_in_index, column_name, COALESCE(sub_part, '-'), COALESCE(collation, '-'), index_type) FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1",
			"constraints": "SELECT CONCAT_WS(' ', table_name, constraint_name, constraint_type) FROM information_schema.table_constraints WHERE table_schema = DATABASE() ORDER BY 1",
			"checks":      "SELECT CONCAT_WS(' ', constraint_name, check_clause) FROM information_schema.check_constraints WHERE constraint_schema = DATABASE() ORDER BY 1",
			"triggers":    "SELECT CONCAT_WS(' ', trigger_name, event_object_table, action_statement) FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1",
			"routines":    "SELECT CONCAT_WS(' ', routine_name, routine_definition) FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1",
		}
	}
	names, err := tables(t.Context(), db)
	if err != nil || len(names) == 0 {
		t.Fatalf("%d tables (%v)", len(names), err)
	}
	for _, name := range names {
		queries["rows of "+name] = rowsOf(t, db, name)
	}
	all := map[string][]string{}
	for what, query := range queries {
		list, err := texts(t.Context(), db, query)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		all[what] = list
	}
	return all
}

func rowsOf(t *testing.T, db dialect.Database, table string) string {
	t.Helper()
	columns, err := columnsOf(t.Context(), db, table)
	if err != nil {
		t.Fatal(err)
	}
	switch table { // the instants differ, and a database that a script made has no owner yet
	case "goose_db_version":
		columns = []string{"id", "version_id", "is_applied"}
	case "owner":
		columns = []string{"id", "epoch"}
	case "processes":
		columns = []string{"start_number", "version"}
	}
	return "SELECT CONCAT_WS(' ', `" + strings.Join(columns, "`, `") + "`) FROM " + table + " ORDER BY 1"
}
