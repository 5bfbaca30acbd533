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
	"weir/surveys"
)

const (
	thisSurvey = 7
	thisImport = 77
	inBucket   = 100_000 // respondents of each kind
)

// Survey lists the statements that a survey broker, a list and a sweep run.
type Survey func(s *persistence.Store, now time.Time, r surveys.Respondent, channel weir.ChannelID, imp int64) []Statement

// prepare opens a store with a survey of 300,000 respondents and more:
// pending ones of a full bucket before those of others, final ones, active ones
// and those of an import; a long log, many outbox entries.
func (list Survey) prepare(t *testing.T, url string, open func(context.Context, string, *slog.Logger) (dialect.Database, error)) (*persistence.Store, *sql.DB, []Statement) {
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
	for i, kind := range []string{"1, 0, 0", "1, 1 + n % 2, CASE WHEN n % 20 < 2 THEN n ELSE 0 END", "3, 0, 0"} {
		fillRespondents(t, pool, i*inBucket, kind, inBucket)
	}
	fillRespondents(t, pool, 3*inBucket, "2, 0, 1000000 + n", 10_000)
	fillRespondents(t, pool, 4*inBucket, fmt.Sprintf("0, 0, %d", thisImport), 10_000)
	exec(t, pool, "INSERT INTO survey_quarters (survey_id, quarter, mode, arm, started, answered, completed) SELECT 1 + n % 20, n / 20, 'sms', 0, 1, 1, 1 FROM "+fill.Numbers(0, 20_000))
	exec(t, pool, "INSERT INTO survey_sums (survey_id, status, disposition, bucket, counted, furthest, n) SELECT 7, 1 + n % 6, 'registered', n / 6, 0, 'registered', 1 FROM "+fill.Numbers(0, 60))
	exec(t, pool, "INSERT INTO survey_log (survey_id, id, at, respondent_id, event, mode, channel, attempt, outcome, was, became) "+
		"SELECT 7, n, 0, 1, 'ended', 'sms', 'a', 1, '', '', '' FROM "+fill.Numbers(0, 20_000))
	exec(t, pool, "INSERT INTO outbox (id, kind, at, channel_id, contact_id, survey_id, respondent_id, serial, outcome, message) "+
		"SELECT n, 'ended', 0, 1, n, 7, n, 1, 'completed', '' FROM "+fill.Numbers(0, 20_000))
	t.Logf("filled in %v", time.Since(begin).Round(time.Millisecond))
	r, err := s.Respondent(t.Context(), thisSurvey, inBucket/2+1)
	if err != nil {
		t.Fatal(err)
	}
	return s, pool, list(s, time.UnixMicro(1_000_000), r, c.ID, thisImport)
}

// fillRespondents inserts count respondents with ids after from. kind holds the SQL
// expressions of status, lane and next_at.
func fillRespondents(t *testing.T, db *sql.DB, from int, kind string, count int) {
	t.Helper()
	id := fmt.Sprintf("(n + %d)", from+1)
	phone := fmt.Sprintf("((n + %d) * 7919 %% 1000003)", from) // not in the order of ids
	exec(t, db, fmt.Sprintf("INSERT INTO respondents (status, lane, next_at, id, survey_id, rev, phone, attributes, bucket, disposition, counted, "+
		"added_at, progress) SELECT %s, %s, %d, 0, %s, '{\"name\":\"Jane Doe\",\"region\":\"north\"}', 0, 'registered', 0, 1, '{\"due_at\":1000000}' FROM %s",
		kind, id, thisSurvey, phone, fill.Numbers(0, count)))
}

// SQLite requires that every statement of a survey broker searches an index,
// in the index's order.
func (list Survey) SQLite(t *testing.T) {
	t.Helper()
	t.Parallel()
	s, db, found := list.prepare(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), sqlite.Open)
	for _, q := range found {
		plan := sqlitePlan(t, db, q)
		searched := false
		for _, line := range plan {
			searched = searched || strings.Contains(line, "SEARCH ") && strings.Contains(line, " USING ")
			bad := strings.Contains(line, "TEMP B-TREE") && q.Name != "all by number" && q.Name != "pending buckets"
			for _, table := range []string{"respondents", "survey_sums", "survey_quarters", "survey_log", "outbox", "contacts_queued"} {
				bad = bad || strings.HasPrefix(line, "SCAN "+table)
			}
			if bad {
				t.Errorf("%s: %s", q.Name, line)
			}
		}
		if !searched {
			t.Errorf("%s searches no index: %v", q.Name, plan)
		}
	}
	checkPoll(t, s)
}

// MySQL runs every statement and counts the rows that the server
// touched.
func (list Survey) MySQL(t *testing.T) {
	t.Helper()
	t.Parallel()
	s, db, found := list.prepare(t, testmysql.URL(t), mysql.Open)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, q := range found {
		returned, touched := run(t, conn, q)
		t.Logf("%s: %d rows returned, %d touched", q.Name, returned, touched)
		// A few more than are returned: the end of the range, the rows of the table in which
		// a union is assembled.
		if most := 4*returned + 60; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
	checkPoll(t, s)
}

// checkPoll requires that a poll finds its rows, and quickly.
func checkPoll(t *testing.T, s *persistence.Store) {
	t.Helper()
	begin := time.Now()
	for range 10 {
		list, err := s.Startable(t.Context(), thisSurvey, time.Unix(2, 0), []int{0}, 100)
		if err != nil || len(list) != 100 || list[0].ID <= inBucket {
			t.Fatalf("%d may be started (%v)", len(list), err)
		}
		due, next, err := s.DueRespondents(t.Context(), thisSurvey, time.Unix(2, 0), 100)
		if err != nil || len(due) != 100 || next.IsZero() {
			t.Fatalf("%d are due, next %v (%v)", len(due), next, err)
		}
		if latest, err := s.LatestDue(t.Context(), thisSurvey, 100); err != nil || len(latest) != 100 {
			t.Fatalf("%d are due the latest (%v)", len(latest), err)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("ten polls took %v", took)
	}
	list, _, err := s.Respondents(t.Context(), surveys.Filter{Survey: thisSurvey, Statuses: []surveys.Status{surveys.Canceled}})
	if err != nil || len(list) != 0 {
		t.Errorf("%d are canceled (%v)", len(list), err)
	}
}
