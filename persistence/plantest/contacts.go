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
	contactstore "weir/persistence/contacts"
	"weir/persistence/dialect"
	"weir/persistence/fill"
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

const (
	many  = 40_000
	lanes = 5
)

// prepare opens a store and fills one channel.
func prepare(t *testing.T, url string, open func(context.Context, string, *slog.Logger) (dialect.Database, error)) (*persistence.Store, *sql.DB, weir.ChannelID) {
	t.Helper()
	s := storetest.Open(t, url, persistence.Options{})
	c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "a", Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	pool := openPool(t, url, open)
	begin := time.Now()
	contacts(t, pool, c.ID, weir.Queued, 0, many)
	contacts(t, pool, c.ID, weir.Done, many, many)
	contacts(t, pool, c.ID, weir.Delayed, 2*many, 10_000)
	contacts(t, pool, c.ID, weir.Active, 3*many, 100) // in flight: no row but that in contacts
	ended, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "nothing open", Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	contacts(t, pool, ended.ID, weir.Done, 4*many, 10_000)
	addresses(t, pool, c.ID)
	t.Logf("filled in %v", time.Since(begin).Round(time.Second))
	return s, pool, c.ID
}

// openPool opens the database of a store for statements of the test.
func openPool(t *testing.T, url string, open func(context.Context, string, *slog.Logger) (dialect.Database, error)) *sql.DB {
	t.Helper()
	_, address, _ := strings.Cut(url, "://")
	db, err := open(t.Context(), address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Pools().Write
}

// contacts inserts count contacts of a state, with numbers from first on.
func contacts(t *testing.T, db *sql.DB, channel weir.ChannelID, state weir.State, first, count int) {
	t.Helper()
	lane := fmt.Sprintf("2 * 72057594037927936 + n %% %d", lanes)
	key := []fill.Column{{Name: "channel_id", Value: fmt.Sprint(channel)}, {Name: "id", Value: "n + 1"}}
	insert := func(table string, columns ...fill.Column) {
		rows(t, db, table, first, count, append(key[:2:2], columns...))
	}
	insert("contacts", []fill.Column{
		{Name: "ckey", Value: "CASE WHEN n % 2 = 0 THEN n + 1 END"},
		{Name: "addr", Value: "'+15550001'"}, {Name: "priority", Value: "2"}, {Name: "survey", Value: "'s'"}, {Name: "labels", Value: "''"},
		{Name: "content", Value: `'{"messages":["A survey: would you take part? Answer 1 for yes and 2 for no."]}'`},
		{Name: "not_before", Value: "0"}, {Name: "not_after", Value: "0"}, {Name: "size", Value: "1"}, {Name: "queued_at", Value: "1"}, {Name: "lane", Value: lane},
		{Name: "for_survey", Value: "0"}, {Name: "for_id", Value: "0"}, {Name: "for_serial", Value: "0"},
	}...)
	rev, at := fill.Column{Name: "rev", Value: "0"}, fmt.Sprintf("n - %d", first)
	switch state {
	case weir.Queued:
		insert("contacts_queued", fill.Column{Name: "lane", Value: lane}, rev, fill.Column{Name: "size", Value: "1"})
		rows(t, db, "contacts_expiring", first, count/10, append(key[:2:2], fill.Column{Name: "expire_at", Value: "1000000 + n"}))
	case weir.Delayed:
		insert("contacts_delayed", fill.Column{Name: "due_at", Value: at}, rev)
	case weir.Done:
		progress := fmt.Sprintf("x'%x'", contactstore.EncodeProgress(weir.Progress{State: weir.Done, Rev: 4, Attempt: 1, Outcome: weir.Completed}))
		insert("contacts_done", fill.Column{Name: "finished_at", Value: at}, rev, fill.Column{Name: "outcome", Value: "'completed'"},
			fill.Column{Name: "reason", Value: "''"}, fill.Column{Name: "progress", Value: progress})
	default: // in flight: only in the log, which no plan is about
	}
}

// addresses inserts four segments of the index of addresses, and a message of each of many people.
func addresses(t *testing.T, db *sql.DB, channel weir.ChannelID) {
	t.Helper()
	key := []fill.Column{{Name: "channel_id", Value: fmt.Sprint(channel)}, {Name: "id", Value: "n + 1"}}
	rows(t, db, "contact_addresses", 0, many, append(key[:2:2], fill.Column{Name: "segment", Value: "(n - n % 10000) / 10000 + 1"}, fill.Column{Name: "hash", Value: "n"}))
	rows(t, db, "address_segments", 1, 4, []fill.Column{{Name: "id", Value: "n"}, {Name: "high", Value: "n * 10000"}})
	rows(t, db, "incoming", 0, many, append(key[:2:2], fill.Column{Name: "sender", Value: "CONCAT('+1555', n + 10000)"}, fill.Column{Name: "recipient", Value: "''"},
		fill.Column{Name: "body", Value: "'1'"}, fill.Column{Name: "fields", Value: "'{}'"}, fill.Column{Name: "received_at", Value: "n"}))
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

// Contacts lists the statements of contacts, with a contact that waits in a lane of a channel as example.
type Contacts func(s *persistence.Store, channel weir.ChannelID, lane weir.Lane, waiting weir.ContactID) []Statement

func (list Contacts) of(s *persistence.Store, channel weir.ChannelID) []Statement {
	return list(s, channel, weir.Lane(2<<56+1), many/2+2)
}

// SQLite requires that every statement searches an index, in the index's order.
func (list Contacts) SQLite(t *testing.T) {
	t.Helper()
	s, db, channel := prepare(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), sqlite.Open)
	for _, q := range list.of(s, channel) {
		plan := sqlitePlan(t, db, q)
		t.Logf("%s:\n\t%s", q.Name, strings.Join(plan, "\n\t"))
		for _, line := range plan {
			if strings.HasPrefix(line, "SCAN") && line != "SCAN channels" && line != "SCAN part" && !strings.HasSuffix(line, "VALUES CLAUSE") || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s: %s", q.Name, line)
			}
		}
		if strings.HasPrefix(q.Name, "list done") && !strings.Contains(plan[0], "finished_at") {
			t.Errorf("%s reads the pages before it: %s", q.Name, plan[0])
		}
	}
}

func sqlitePlan(t *testing.T, db *sql.DB, q Statement) []string {
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

// MySQL runs every statement and counts the rows that the server touched.
func (list Contacts) MySQL(t *testing.T) {
	t.Helper()
	s, db, channel := prepare(t, testmysql.URL(t), mysql.Open)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, q := range list.of(s, channel) {
		returned, touched := run(t, conn, q)
		t.Logf("%s: %d rows returned, %d touched", q.Name, returned, touched)
		// A few more than are returned: the end of the range, one channel for each element
		// of a list. With the state of a contact, of each of its tables one.
		tables := int64(2)
		if strings.Contains(q.Text, "contacts_done e") {
			tables = 4
		}
		if most := tables*returned + 20; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
}

// run runs a statement and counts the rows returned and the rows that the server touched.
func run(t *testing.T, conn *sql.Conn, q Statement) (returned, touched int64) {
	t.Helper()
	_ = mysqlPlan(t, conn, q) // MySQL reads its dictionary the first time that a table is used
	before := touchedSoFar(t, conn)
	if strings.HasPrefix(q.Text, "DELETE") {
		result, err := conn.ExecContext(t.Context(), q.Text, q.Args...)
		if err != nil {
			t.Fatalf("%s: %v", q.Name, err)
		}
		if returned, err = result.RowsAffected(); err != nil || returned == 0 {
			t.Fatalf("%s deleted %d rows (%v)", q.Name, returned, err)
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

func mysqlPlan(t *testing.T, conn *sql.Conn, q Statement) string {
	t.Helper()
	var plan string
	if err := conn.QueryRowContext(t.Context(), "EXPLAIN FORMAT=JSON "+q.Text, q.Args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	return plan
}
