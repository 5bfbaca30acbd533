package plantest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/fill"
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

const (
	million = 1_000_000
	lanes   = 5
)

// prepare opens a store and fills one channel.
func prepare(t *testing.T, url string, open func(context.Context, string, *slog.Logger) (dialect.Database, error)) (*persistence.Store, *sql.DB, weir.ChannelID) {
	t.Helper()
	s := storetest.Open(t, url, persistence.Options{})
	c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "a", Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(url, "://")
	db, err := open(t.Context(), address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	pool := db.Pools().Write
	begin := time.Now()
	contacts(t, pool, c.ID, weir.Queued, 0, million)
	contacts(t, pool, c.ID, weir.Done, million, million)
	contacts(t, pool, c.ID, weir.Delayed, 2*million, 10_000)
	contacts(t, pool, c.ID, weir.Active, 3*million, 100)
	ended, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "nothing open", Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	contacts(t, pool, ended.ID, weir.Done, 4*million, 10_000)
	t.Logf("filled in %v", time.Since(begin).Round(time.Second))
	return s, pool, c.ID
}

// contacts inserts count contacts of a state, with numbers from first on.
func contacts(t *testing.T, db *sql.DB, channel weir.ChannelID, state weir.State, first, count int) {
	t.Helper()
	id, lane, pos, expire := "n + 1", "0", fmt.Sprintf("n - %d", first), "NULL"
	if state == weir.Queued {
		lane, pos = fmt.Sprintf("2 * 72057594037927936 + n %% %d", lanes), id
	}
	if state.Waiting() {
		expire = "CASE WHEN n % 10 = 0 THEN 1000000 + n END"
	}
	rows(t, db, "contacts", first, count, []fill.Column{
		{Name: "channel_id", Value: fmt.Sprint(channel)}, {Name: "id", Value: id}, {Name: "ckey", Value: "CASE WHEN n % 2 = 0 THEN n + 1 END"},
		{Name: "addr", Value: "'+15550001'"}, {Name: "priority", Value: "2"}, {Name: "survey", Value: "'s'"}, {Name: "labels", Value: "''"},
		{Name: "content", Value: `'{"messages":["A survey: would you take part? Answer 1 for yes and 2 for no."]}'`},
		{Name: "not_before", Value: "0"}, {Name: "not_after", Value: "0"}, {Name: "size", Value: "1"}, {Name: "queued_at", Value: "1"},
		{Name: "rev", Value: "0"}, {Name: "state", Value: fmt.Sprint(int(state))}, {Name: "lane", Value: lane}, {Name: "pos", Value: pos},
		{Name: "expire_at", Value: expire}, {Name: "due_at", Value: "0"},
	})
}

// rows inserts rows that the database itself generates.
func rows(t *testing.T, db *sql.DB, table string, first, count int, columns []fill.Column) {
	t.Helper()
	if err := fill.Rows(t.Context(), db, table, columns, first, count); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
}

// claim returns a transition of a contact in the middle of the queue.
func claim(channel weir.ChannelID) weir.Transition {
	c := weir.Contact{Ref: weir.Ref{Channel: channel, ID: million / 2}, Progress: weir.Progress{Rev: 1, State: weir.Sending}}
	return weir.Transition{Contact: c, From: 0, Was: weir.Queued}
}

func statements(s *persistence.Store, channel weir.ChannelID) []persistence.Statement {
	return s.Statements(channel, weir.Lane(2<<56+1), claim(channel))
}

// TestSQLite requires that every statement searches an index, in the index's order.
func TestSQLite(t *testing.T) {
	s, db, channel := prepare(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), sqlite.Open)
	for _, q := range statements(s, channel) {
		plan := sqlitePlan(t, db, q)
		t.Logf("%s:\n\t%s", q.Name, strings.Join(plan, "\n\t"))
		searched := false
		for _, line := range plan {
			searched = searched || strings.Contains(line, "SEARCH contacts USING") || strings.Contains(line, "SEARCH o USING")
			if strings.Contains(line, "SCAN contacts") || strings.Contains(line, "SCAN o") || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s: %s", q.Name, line)
			}
		}
		if strings.HasPrefix(q.Name, "list done") && !strings.Contains(plan[0], "pos>?") {
			t.Errorf("%s reads the pages before it: %s", q.Name, plan[0])
		}
		if !searched {
			t.Errorf("%s searches no index of contacts", q.Name)
		}
	}
}

func sqlitePlan(t *testing.T, db *sql.DB, q persistence.Statement) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.Text, q.Args...)
	if err != nil {
		t.Fatalf("%s: %v", q.Name, err)
	}
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestMySQL runs every statement and counts the rows that the server touched.
func TestMySQL(t *testing.T) {
	s, db, channel := prepare(t, testmysql.URL(t), mysql.Open)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, q := range statements(s, channel) {
		returned, touched := run(t, conn, q)
		t.Logf("%s: %d rows returned, %d touched", q.Name, returned, touched)
		// A few more than are returned: the end of the range, the temporary table of an
		// update, one channel for each element of a list.
		if most := 2*returned + 20; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
}

// run runs a statement and counts the rows returned and the rows that the server touched.
func run(t *testing.T, conn *sql.Conn, q persistence.Statement) (returned, touched int64) {
	t.Helper()
	_ = mysqlPlan(t, conn, q) // MySQL reads its dictionary the first time that a table is used
	before := touchedSoFar(t, conn)
	if strings.HasPrefix(q.Text, "UPDATE") {
		result, err := conn.ExecContext(t.Context(), q.Text, q.Args...)
		if err != nil {
			t.Fatalf("%s: %v", q.Name, err)
		}
		if returned, err = result.RowsAffected(); err != nil || returned != 1 {
			t.Fatalf("%s changed %d rows (%v)", q.Name, returned, err)
		}
		return returned, touchedSoFar(t, conn) - before
	}
	rows, err := conn.QueryContext(t.Context(), q.Text, q.Args...)
	if err != nil {
		t.Fatalf("%s: %v", q.Name, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() { // reading to the end frees the connection
		returned++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return returned, touchedSoFar(t, conn) - before
}

func touchedSoFar(t *testing.T, conn *sql.Conn) int64 {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', "+
		"'Handler_read_last', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var sum int64
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sum
}

func mysqlPlan(t *testing.T, conn *sql.Conn, q persistence.Statement) string {
	t.Helper()
	var plan string
	if err := conn.QueryRowContext(t.Context(), "EXPLAIN FORMAT=JSON "+q.Text, q.Args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	return plan
}
