package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

// twin is two servers with the same, empty database. They do not replicate.
type twin struct {
	*testing.T
	servers [2]*testmysql.Server
	plain   [2]*sql.DB
	address string // of both
}

const twinName = "weir_twin"

func newTwin(t *testing.T) *twin {
	t.Helper()
	w := &twin{T: t}
	var hosts []string
	for i := range w.servers {
		w.servers[i] = testmysql.Start(t)
		cfg := settings(t, w.servers[i].URL(t))
		w.plain[i] = open(t, mustConnect(t, cfg), 2)
		w.do(i, "CREATE DATABASE "+twinName)
		hosts = append(hosts, cfg.Addr)
	}
	w.address = "weir:weir@" + strings.Join(hosts, ",") + "/" + twinName
	return w
}

func (w *twin) do(i int, text string) {
	w.Helper()
	if _, err := w.plain[i].Exec(text); err != nil {
		w.Fatal(err)
	}
}

// account makes the account of Weir, which read_only concerns.
func (w *twin) account() {
	w.Helper()
	for i := range w.servers {
		w.do(i, "CREATE USER ann@'%' IDENTIFIED BY 'secret'")
		w.do(i, "GRANT ALL ON "+twinName+".* TO ann@'%'")
	}
	w.address = "ann:secret" + w.address[strings.Index(w.address, "@"):]
}

func (w *twin) open() *Database {
	w.Helper()
	d, err := Open(w.Context(), w.address, slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = d.Close() })
	return d.(*Database)
}

// port returns the port of the server that a pool uses.
func port(t *testing.T, pool *sql.DB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var n int
	if err := pool.QueryRowContext(ctx, "SELECT @@port").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(n)
}

func pools(d *Database) []*sql.DB {
	p := d.Pools()
	return []*sql.DB{p.Batch, p.Write, p.Read, p.Lease}
}

// use fails the test unless all pools use a server.
func (w *twin) use(d *Database, i int) {
	w.Helper()
	want := port(w.T, w.plain[i])
	for _, p := range pools(d) {
		if got := port(w.T, p); got != want {
			w.Errorf("a pool uses the server at port %s, want %s", got, want)
		}
	}
	if got := d.ServerAddress(); !strings.HasSuffix(got, ":"+want) {
		w.Errorf("the server in use is %s, want port %s", got, want)
	}
}

func TestServers_WritableOneIsUsed(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.account()
	w.do(0, "SET GLOBAL read_only = ON")
	d := w.open()
	w.use(d, 1)

	// They change roles: the pools follow, though the former server still answers.
	w.do(1, "SET GLOBAL read_only = ON")
	w.do(0, "SET GLOBAL read_only = OFF")
	if _, err := d.Pools().Lease.Exec("CREATE TABLE t (id INT PRIMARY KEY)"); err != nil {
		t.Fatalf("the lease does not reach the new server: %v", err)
	}
	w.use(d, 0)

	w.do(0, "SET GLOBAL read_only = ON")
	_, err := d.Pools().Write.Exec("INSERT INTO t VALUES (1)")
	if kind, code := d.Classify(err); kind != dialect.Down || code != "server" || strings.Count(err.Error(), "read_only = ON") != 2 {
		t.Errorf("without a writable server: %v, %v %s", err, kind, code)
	}
}

// A connection on which the owner of the database is looked at is given up with its server.
func TestServers_OneThatIsNoLongerUsableIsNoticed(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.account()
	w.do(1, "SET GLOBAL read_only = ON")
	d := w.open()
	c, err := d.Pools().Write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := d.Verify(t.Context(), c); err != nil {
		t.Errorf("the server in use: %v", err)
	}
	w.do(0, "SET GLOBAL read_only = ON")
	if err := d.Verify(t.Context(), c); err == nil || !strings.Contains(err.Error(), "read_only = ON") {
		t.Errorf("a server that became read-only: %v", err)
	}
	if err := c.PingContext(t.Context()); err == nil {
		t.Error("the connection is still open")
	}
}

func TestServers_OneThatEndedIsReplaced(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.account()
	w.do(1, "SET GLOBAL read_only = ON")
	d := w.open()
	w.use(d, 0)
	w.servers[0].Kill()
	w.do(1, "SET GLOBAL read_only = OFF")
	for _, p := range pools(d) { // a statement on a broken connection may fail
		_ = p.Ping()
	}
	w.use(d, 1)
}

// A server that stands still takes connections and does not answer.
func TestServers_StoppedOneCostsTwoSeconds(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.account()
	w.do(1, "SET GLOBAL read_only = ON")
	d := w.open()
	w.use(d, 0)
	w.do(1, "SET GLOBAL read_only = OFF")
	if err := syscall.Kill(w.servers[0].PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if !polling.Until(10*time.Second, 10*time.Millisecond, func() bool { // the signal takes its time on a busy machine
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return w.plain[0].PingContext(ctx) != nil
	}) {
		t.Fatal("the server goes on")
	}
	waits := make(chan error, 1)
	go func() {
		_, err := d.Pools().Batch.ExecContext(context.WithoutCancel(t.Context()), "DO SLEEP(0)")
		waits <- err
	}()
	if !polling.Until(10*time.Second, 10*time.Millisecond, func() bool { return d.Pools().Batch.Stats().InUse == 1 }) {
		t.Fatal("the statement has no connection")
	}
	d.Disconnect()
	if err := <-waits; err != nil { // it does not wait for its time limit
		t.Logf("the statement: %v", err)
	}
	began := time.Now()
	port(t, d.Pools().Lease)
	if took := time.Since(began); took > 2*serverTime {
		t.Errorf("the other server was found after %v", took)
	}
	began = time.Now()
	w.use(d, 1)
	if took := time.Since(began); took > serverTime {
		t.Errorf("the other pools found it after %v", took)
	}
}

func TestServers_ThatBothTakeWritesAreRefused(t *testing.T) {
	t.Parallel()
	w := newTwin(t)
	w.account()
	if _, err := Open(t.Context(), w.address, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "can both be written") {
		t.Errorf("two servers that take writes: %v", err)
	}
}

func TestServers_ChangedPasswordIsThatOfTheNextConnection(t *testing.T) {
	t.Parallel()
	url := testmysql.Start(t).URL(t)
	plain := open(t, mustConnect(t, settings(t, url)), 1)
	do := func(text string) {
		t.Helper()
		if _, err := plain.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE USER ann@'%' IDENTIFIED BY 'first'")
	do("GRANT ALL ON *.* TO ann@'%'")
	address := func(password string) string {
		return "ann:" + password + strings.TrimPrefix(url, "mysql://weir:weir")
	}
	opened, err := Open(t.Context(), address("first"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*Database)
	t.Cleanup(func() { _ = d.Close() })
	now, failure := address("first"), error(nil)
	d.Renew(func() (string, error) { return now, failure })
	for _, step := range []struct {
		password, file string
		err            error
	}{
		{"first", "first", nil},
		{"second", "second", nil},
		{"first", "ignored", errors.New("no such file")}, // that of the start
	} {
		do("ALTER USER ann@'%' IDENTIFIED BY '" + step.password + "'")
		now, failure = address(step.file), step.err
		d.Disconnect()
		for _, p := range pools(d) {
			_ = p.Ping() // one that was cut
			if err := p.Ping(); err != nil {
				t.Errorf("the password is %s: %v", step.password, err)
			}
		}
	}
}

// One server outside of a group is asked no more than before.
func TestServers_SingleOneIsNotChecked(t *testing.T) {
	t.Parallel()
	d, _ := through(t)
	if d.servers.checked.Load() {
		t.Error("each connection to the one server is checked")
	}
}

func TestServers_AreTriedTheLastUsedFirst(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "mysql://u:p@a,b,c/d")
	s := newServers(cfg, slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		do   func()
		want []int
	}{
		{func() {}, []int{0, 1, 2}},
		{func() { s.failed(0, context.DeadlineExceeded) }, []int{1, 2, 0}},
		{func() { s.failed(1, passing("read-only")) }, []int{1, 2, 0}},
		{func() { s.use(&link{server: 2, net: new(net.TCPConn)}, 0) }, []int{2, 1, 0}},
		{func() { s.use(&link{server: 0, net: new(net.TCPConn)}, 0) }, []int{2, 1, 0}}, // it was asked before another one came into use
		{func() { s.use(&link{server: 1, net: new(net.TCPConn)}, 1) }, []int{1, 2, 0}},
	} {
		c.do()
		if got, _ := s.next(); !slices.Equal(got, c.want) {
			t.Errorf("the order is %v, want %v", got, c.want)
		}
	}
}
