package plantest

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"weir/persistence"
	"weir/persistence/fill"
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// People is how many people have a state and an entry each, at the instant of their number.
const People = 40_000

// longHistory is how many entries person 7 has besides.
const longHistory = 20_000

// fillPeople fills the tables of people. hash is the expression of the hash of person n.
func fillPeople(t *testing.T, db *sql.DB, hash string) {
	t.Helper()
	key := fill.Column{Name: "hash", Value: hash}
	rows(t, db, "consent_states", 0, People, []fill.Column{
		key, {Name: "purpose", Value: "'all'"}, {Name: "status", Value: "'refused'"}, {Name: "source", Value: "'word'"}, {Name: "said_at", Value: "1"}, {Name: "version", Value: "n"},
	})
	rows(t, db, "consents", 0, People, []fill.Column{
		{Name: "id", Value: "n"}, key, {Name: "key_id", Value: "''"}, {Name: "ckey", Value: "CAST(n AS CHAR)"}, {Name: "addr", Value: "''"}, {Name: "purpose", Value: "'all'"},
		{Name: "status", Value: "'refused'"}, {Name: "source", Value: "'word'"}, {Name: "said_at", Value: "1"}, {Name: "words", Value: "''"}, {Name: "actor", Value: "''"},
	})
	rows(t, db, "undecided_messages", 0, People, []fill.Column{
		{Name: "id", Value: "n"}, key, {Name: "mkey", Value: "n"}, {Name: "addr", Value: "''"}, {Name: "channel", Value: "''"}, {Name: "words", Value: "'stop it'"}, {Name: "found", Value: "'stop'"},
		{Name: "said_at", Value: "n"}, {Name: "decision", Value: "CASE WHEN n % 20 = 0 THEN '' ELSE 'dismissed' END"}, {Name: "decided_at", Value: "0"}, {Name: "actor", Value: "''"},
	})
	rows(t, db, "person_answers", 0, People, []fill.Column{key, {Name: "kind", Value: "'help'"}, {Name: "answered_at", Value: "n"}, {Name: "mkey", Value: "''"}})
	rows(t, db, "person_contacts", 0, People, []fill.Column{
		key, {Name: "claimed_at", Value: "n"}, {Name: "channel_id", Value: "1"}, {Name: "contact_id", Value: "n"}, {Name: "number", Value: "1"}, {Name: "purpose", Value: "'p'"}, {Name: "text", Value: "0"},
	})
	rows(t, db, "person_replies", 0, People, []fill.Column{
		key, {Name: "claimed_at", Value: "n"}, {Name: "channel_id", Value: "1"}, {Name: "contact_id", Value: "n"}, {Name: "number", Value: "1"},
	})
	person7 := strings.ReplaceAll(strings.ReplaceAll(hash, "n)", "7)"), "(n,", "(7,")
	rows(t, db, "person_contacts", People, People+longHistory, []fill.Column{
		{Name: "hash", Value: person7}, {Name: "claimed_at", Value: "n"}, {Name: "channel_id", Value: "1"}, {Name: "contact_id", Value: "n"}, {Name: "number", Value: "1"},
		{Name: "purpose", Value: "CASE WHEN n % 4000 = 0 THEN 'rare' ELSE 'often' END"}, {Name: "text", Value: "CASE WHEN n % 9000 = 0 THEN 5 ELSE 7 END"},
	})
}

// PeopleSQLite requires that every statement of claims searches an index.
func PeopleSQLite(t *testing.T, list []Statement) {
	t.Helper()
	url := "sqlite://" + filepath.Join(t.TempDir(), "weir.db")
	storetest.Open(t, url, persistence.Options{})
	db := openPool(t, url, sqlite.Open)
	fillPeople(t, db, "CAST(printf('%016d', n) AS BLOB)")
	for _, q := range list {
		plan := sqlitePlan(t, db, q)
		t.Logf("%s:\n\t%s", q.Name, strings.Join(plan, "\n\t"))
		for _, line := range plan {
			if strings.Contains(q.Name, " for ") && !strings.Contains(line, "person_contacts_purpose (hash=? AND purpose=? AND claimed_at>?)") ||
				strings.Contains(q.Name, " with a text") && !strings.Contains(line, "person_contacts_text (hash=? AND text=? AND claimed_at>?)") {
				t.Errorf("%s: %s", q.Name, line)
			}
			if strings.HasPrefix(line, "SCAN") && line != "SCAN part" || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s: %s", q.Name, line)
			}
		}
	}
}

// PeopleMySQL runs every statement of claims and counts the rows that the server touched.
func PeopleMySQL(t *testing.T, list []Statement) {
	t.Helper()
	url := testmysql.URL(t)
	storetest.Open(t, url, persistence.Options{})
	db := openPool(t, url, mysql.Open)
	fillPeople(t, db, "LPAD(n, 16, '0')")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, q := range list {
		returned, touched := run(t, conn, q)
		t.Logf("%s: %d rows returned, %d touched", q.Name, returned, touched)
		if most := 2*returned + 40; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
}
