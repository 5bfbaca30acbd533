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
	"weir/operators"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/fill"
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

const (
	lostBySilence = "its outcome is unknown"
	someSubject   = "1-7"
	nowMinute     = 2_000_000 // of the minutes in the table
	dead          = 100_000   // dead letters of one channel
	auditRows     = 100_000
)

// DeadLetters lists the statements about dead letters.
type DeadLetters struct {
	// Bounded lists those that read a bounded number of rows, Counting those that read all that they count.
	Bounded  func(s *persistence.Store, channel weir.ChannelID, contact weir.ContactID, reason string) []Statement
	Counting func(s *persistence.Store, channel weir.ChannelID, reason string, since, until time.Time) []Statement
}

func (l *DeadLetters) bounded(g *grave) []Statement {
	return l.Bounded(g.Store, 1, 7*4194304-1, lostBySilence)
}

func (l *DeadLetters) counting(g *grave) []Statement {
	return l.Counting(g.Store, 1, lostBySilence, idBegin().Add(40*time.Second), idBegin().Add(41*time.Second))
}

// Minutes lists the statements about minutes and the audit. Each reads a bounded number of rows.
type Minutes func(s *persistence.Store, channel weir.ChannelID, subject string, now time.Time) []Statement

func (list Minutes) of(g *grave) []Statement {
	return list(g.Store, 1, someSubject, time.Unix(nowMinute*60, 0))
}

// grave is a store with very many dead letters of one channel, in eleven groups,
// and some of four others; or with two days of minutes and a long audit log.
type grave struct {
	*persistence.Store
	db *sql.DB
}

func prepareGrave(t *testing.T, url string, open func(context.Context, string, *slog.Logger) (dialect.Database, error), fillIt func(*testing.T, *sql.DB)) *grave {
	t.Helper()
	s := storetest.Open(t, url, persistence.Options{})
	_, address, _ := strings.Cut(url, "://")
	db, err := open(t.Context(), address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	pool := db.Pools().Write
	exec(t, pool, "INSERT INTO channels (id, name, former_name, type, title, capacity, paused, settings, secret, version, deleting, deleted, created_at, updated_at) "+
		"SELECT n, n, '', '', '', 1, 0, '', '', 1, 0, 0, 0, 0 FROM "+fill.Numbers(1, 5))
	begin := time.Now()
	fillIt(t, pool)
	if strings.HasPrefix(url, "mysql") { // otherwise the server would update its statistics by itself some time later
		exec(t, pool, "ANALYZE TABLE dead_letters, requeues, channel_minutes, channel_hours, audit")
	}
	t.Logf("filled in %v", time.Since(begin).Round(time.Millisecond))
	return &grave{s, pool}
}

func fillGrave(t *testing.T, db *sql.DB) {
	t.Helper()
	fillDeadLetters(t, db, "1", 0, dead)
	fillDeadLetters(t, db, "2 + n % 40", dead, 4000)
}

// fillDeadLetters inserts dead letters, of them one in a thousand ended as lost, and a
// tenth as many rows of requeues.
func fillDeadLetters(t *testing.T, db *sql.DB, channel string, from, count int) {
	t.Helper()
	id := fmt.Sprintf("(n + %d)", from+1)
	exec(t, db, fmt.Sprintf("INSERT INTO dead_letters (channel_id, id, contact_id, outcome, reason) SELECT %s, %s * 4194304, %s * 4194304 - 1, "+
		"CASE WHEN n %% 1000 = 0 THEN 'lost' ELSE 'failed' END, CASE n %% 10 WHEN 0 THEN '%s' WHEN 1 THEN 'error 500' WHEN 2 THEN 'error 501' "+
		"WHEN 3 THEN 'error 502' ELSE 'refused' END FROM %s", channel, id, id, lostBySilence, fill.Numbers(0, count)))
	exec(t, db, fmt.Sprintf("INSERT INTO requeues (channel_id, contact_id, new_id, at, token) SELECT %s, %s * 4194304 - 2, 1, 1, 'me' FROM %s",
		channel, id, fill.Numbers(0, count/10)))
}

// fillMinutes gives thirty channels the minutes of two days and the hours of 13 weeks, and the audit log many rows.
func fillMinutes(t *testing.T, db *sql.DB) {
	t.Helper()
	columns, values := "channel_id, minute", fmt.Sprintf("1 + n / 2880, %d - n %% 2880", nowMinute/15*15)
	for _, c := range []string{
		"accepted", "sent", "send_failed", "completed", "busy", "no_answer", "failed", "expired", "canceled", "lost", "dead_letter",
		"applied", "duplicate", "late", "not_ours", "collections", "reconciled", "in_flight", "in_flight_most", "queued", "capacity",
	} {
		columns, values = columns+", "+c, values+", 1"
	}
	exec(t, db, fmt.Sprintf("INSERT INTO channel_minutes (%s) SELECT %s FROM %s", columns, values, fill.Numbers(0, 86_400)))
	exec(t, db, fmt.Sprintf("INSERT INTO channel_hours (channel_id, hour, sent, used, capacity) SELECT 1 + n / 2184, %d - n %% 2184, 1, 1, 1 FROM %s", nowMinute/60, fill.Numbers(0, 65_520)))
	exec(t, db, "INSERT INTO audit (id, at, token, action, subject, status, request) SELECT n + 1, n, 'me', 'cancel-contact', "+
		"CASE WHEN n % 1000 = 0 THEN '"+someSubject+"' ELSE n END, 200, 'r' FROM "+fill.Numbers(0, auditRows))
}

// idBegin returns the instant of the first id; the dead letters arrived in the
// milliseconds after it.
func idBegin() time.Time { return time.UnixMilli(1735689600000) }

// whole reports whether a count is not limited to a channel, so that it reads an index
// from end to end.
func whole(name string) bool {
	switch strings.TrimPrefix(strings.TrimPrefix(name, "count "), "groups ") {
	case "by channel", "all", "of an outcome", "of a reason", "between two instants":
		return true
	}
	return false
}

// SQLite requires that every statement searches an index, in the index's order,
// and that counting statements read only an index, or the part of the table that they
// count.
func (l *DeadLetters) SQLite(t *testing.T) {
	t.Helper()
	t.Parallel()
	g := prepareGrave(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), sqlite.Open, fillGrave)
	g.checkCounts(t)
	g.boundedSQLite(t, l.bounded(g))
	for _, q := range l.counting(g) {
		plan := strings.Join(sqlitePlan(t, g.db, q), "\n\t")
		t.Logf("%s:\n\t%s", q.Name, plan)
		narrow := strings.Contains(plan, "SEARCH dead_letters USING COVERING INDEX") || strings.Contains(plan, "SEARCH dead_letters USING PRIMARY KEY (channel_id=? AND id>? AND id<?)")
		if !narrow && !(whole(q.Name) && strings.Contains(plan, "SCAN dead_letters USING COVERING INDEX")) {
			t.Errorf("%s: %s", q.Name, plan)
		}
	}
}

// MySQL runs every statement and counts the rows that the server touched.
func (l *DeadLetters) MySQL(t *testing.T) {
	t.Helper()
	t.Parallel()
	g := prepareGrave(t, testmysql.URL(t), mysql.Open, fillGrave)
	g.checkCounts(t)
	conn := g.boundedMySQL(t, l.bounded(g))
	for _, q := range l.counting(g) {
		_, touched := run(t, conn, q)
		t.Logf("%s: %d rows touched", q.Name, touched)
		if whole(q.Name) {
			continue
		}
		if most := 2*counted(q.Name) + 100; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
}

// SQLite requires that every statement searches an index, in the index's order.
func (list Minutes) SQLite(t *testing.T) {
	t.Helper()
	t.Parallel()
	g := prepareGrave(t, "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), sqlite.Open, fillMinutes)
	g.boundedSQLite(t, list.of(g))
}

// MySQL runs every statement and counts the rows that the server touched.
func (list Minutes) MySQL(t *testing.T) {
	t.Helper()
	t.Parallel()
	g := prepareGrave(t, testmysql.URL(t), mysql.Open, fillMinutes)
	g.boundedMySQL(t, list.of(g))
}

func (g *grave) boundedSQLite(t *testing.T, list []Statement) {
	t.Helper()
	for _, q := range list {
		plan := strings.Join(sqlitePlan(t, g.db, q), "\n\t")
		if !strings.Contains(plan, "SEARCH ") || strings.Contains(plan, "SCAN ") || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "(channel_id=?)") {
			t.Errorf("%s: %s", q.Name, plan)
		}
		if q.Name == "dead letters that ended alike" && !strings.Contains(plan, "reason=?") {
			t.Errorf("%s passes others: %s", q.Name, plan)
		}
	}
}

func (g *grave) boundedMySQL(t *testing.T, list []Statement) *sql.Conn {
	t.Helper()
	conn, err := g.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for _, q := range list {
		returned, touched := run(t, conn, q)
		t.Logf("%s: %d rows returned, %d touched", q.Name, returned, touched)
		if most := 2*returned + 20; touched > most {
			t.Errorf("%s touched %d rows, want %d at most; plan:\n%s", q.Name, touched, most, mysqlPlan(t, conn, q))
		}
	}
	return conn
}

// counted returns how many dead letters a counting statement covers.
func counted(name string) int64 {
	switch {
	case strings.HasSuffix(name, " of a channel"):
		return dead
	case strings.HasSuffix(name, "instants"):
		return 1000
	}
	return 100
}

// checkCounts counts and groups by every filter, and requires correct results within
// seconds.
func (g *grave) checkCounts(t *testing.T) {
	t.Helper()
	begin := time.Now()
	if err := g.GaugeDead(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("counted by channel in %v", time.Since(begin))
	reason := lostBySilence
	since, until := idBegin().Add(40*time.Second), idBegin().Add(41*time.Second)
	for _, x := range []struct {
		name   string
		f      operators.DeadLetterFilter
		n      int64
		groups int
	}{
		{"all", operators.DeadLetterFilter{}, dead + 4000, 47},
		{"a channel", operators.DeadLetterFilter{Channel: 1}, dead, 6},
		{"an outcome", operators.DeadLetterFilter{Outcome: weir.Lost}, 104, 2},
		{"a channel and an outcome", operators.DeadLetterFilter{Channel: 1, Outcome: weir.Failed}, dead - 100, 5},
		{"a reason", operators.DeadLetterFilter{Reason: &reason}, 10_400, 7},
		{"alike", operators.DeadLetterFilter{Channel: 1, Outcome: weir.Failed, Reason: &reason}, 9_900, 1},
		{"a second", operators.DeadLetterFilter{Since: since, Until: until}, 1000, 6},
		{"a channel's second", operators.DeadLetterFilter{Channel: 1, Since: since, Until: until}, 1000, 6},
		{"since", operators.DeadLetterFilter{Since: since}, 64_001, 47},
	} {
		begin := time.Now()
		n, err := g.CountDead(t.Context(), x.f)
		counting := time.Since(begin)
		if err != nil || n != x.n {
			t.Errorf("%s: %d are counted, want %d (%v)", x.name, n, x.n, err)
		}
		begin = time.Now()
		groups, err := g.DeadGroups(t.Context(), x.f, 1000)
		grouping := time.Since(begin)
		if err != nil || len(groups) != x.groups {
			t.Errorf("%s: %d groups, want %d (%v)", x.name, len(groups), x.groups, err)
		}
		t.Logf("%s: %d counted in %v, %d groups in %v", x.name, n, counting, len(groups), grouping)
		if most := 3 * time.Second; counting > most || grouping > most {
			t.Errorf("%s: counting took %v and grouping %v", x.name, counting, grouping)
		}
	}
}
