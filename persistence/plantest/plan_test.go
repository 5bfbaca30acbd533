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
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

const (
	million   = 1_000_000
	chunkRows = 100_000
	lanes     = 5
)

// digits is a table of the numbers below 100,000.
const digits = "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM ten a, ten b, ten c, ten e, ten f) AS digits"

// prepare opens a store and fills one channel. It leaves the table ten behind.
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
	exec(t, pool, "CREATE TABLE ten (d BIGINT NOT NULL PRIMARY KEY)")
	exec(t, pool, "INSERT INTO ten VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	begin := time.Now()
	for from := 0; from < million; from += chunkRows {
		fill(t, pool, c.ID, weir.Queued, from, "%s * 72057594037927936 + n %% %s", "id", chunkRows)
		fill(t, pool, c.ID, weir.Done, million+from, "0 * (%s + %s)", "n", chunkRows)
	}
	fill(t, pool, c.ID, weir.Delayed, 2*million, "0 * (%s + %s)", "n", 10_000)
	fill(t, pool, c.ID, weir.Active, 3*million, "0 * (%s + %s)", "n", 100)
	t.Logf("filled in %v", time.Since(begin).Round(time.Second))
	return s, pool, c.ID
}

// fill inserts count contacts of a state with ids from a number on.
func fill(t *testing.T, db *sql.DB, channel weir.ChannelID, state weir.State, from int, lane, pos string, count int) {
	t.Helper()
	lane = fmt.Sprintf(lane, "2", fmt.Sprint(lanes))
	id := fmt.Sprintf("(n + %d)", from+1)
	if pos == "id" {
		pos = id
	} else {
		pos = fmt.Sprintf("(n + %d)", from%million)
	}
	expire := "NULL"
	if state.Waiting() {
		expire = fmt.Sprintf("CASE WHEN n %% 10 = 0 THEN 1000000 + n + %d END", from)
	}
	exec(t, db, fmt.Sprintf("INSERT INTO contacts (channel_id, id, ckey, addr, priority, survey, labels, content, not_before, not_after, size, "+
		"queued_at, rev, state, lane, pos, expire_at, due_at) SELECT %d, %s, CASE WHEN n %% 2 = 0 THEN %s END, '+15550001', 2, 's', '', "+
		"'{\"messages\":[\"A survey: would you take part? Answer 1 for yes and 2 for no.\"]}', 0, 0, 1, 1, 0, %d, %s, %s, %s, 0 FROM %s WHERE n < %d ORDER BY n",
		channel, id, id, state, lane, pos, expire, digits, count))
}

func exec(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
}

// claim is a transition of a contact in the middle of the queue.
func claim(channel weir.ChannelID) weir.Transition {
	c := weir.Contact{Ref: weir.Ref{Channel: channel, ID: million / 2}, Progress: weir.Progress{Rev: 1, State: weir.Sending}}
	return weir.Transition{Contact: c, From: 0, Was: weir.Queued}
}

func statements(s *persistence.Store, channel weir.ChannelID) []persistence.Statement {
	return s.Statements(channel, weir.Lane(2<<56+1), claim(channel))
}

// TestSQLite wants every statement to search an index, in its order.
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
		// A few more than are returned: the end of the range, the temporary
		// table of an update, a channel for each of a list.
		if most := 2*returned + 20; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
}

// run runs a statement and counts its rows and the server's.
func run(t *testing.T, conn *sql.Conn, q persistence.Statement) (returned, touched int64) {
	t.Helper()
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
	for rows.Next() { // the last one frees the connection
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
