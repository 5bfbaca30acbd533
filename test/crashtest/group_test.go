//go:build group

package crashtest_test

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/internal/mariadb"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/storetest"
)

// Limits of a fail-over.
const (
	electWithin  = 2 * time.Minute // for the group, on a busy machine
	followWithin = 5 * time.Second // for Weir, once the group has a primary
)

// group is a group of servers, each behind a proxy, and a cluster on it.
type group struct {
	*cluster
	servers *mariadb.Group
	wires   map[*mariadb.Server]*wire
	first   *broker // the owner
	longest time.Duration
}

func startGroup(t *testing.T) *mariadb.Group {
	t.Helper()
	servers, err := mariadb.StartGroup(t.Context(), func() (string, error) {
		dir, err := os.MkdirTemp("", "weir-my-") // not t.TempDir: its path can be too long for a socket
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir, err
	}, 3, mariadb.Small())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Kill)
	return servers
}

func newGroup(t *testing.T) *group {
	t.Helper()
	servers := startGroup(t)
	g := &group{servers: servers, wires: map[*mariadb.Server]*wire{}}
	url, err := mariadb.CreateDatabase(t.Context(), servers.Servers[0].Address(), "weir")
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, s := range servers.Servers {
		g.wires[s] = newWire(t, s.Host())
		hosts = append(hosts, g.wires[s].address)
	}
	url = strings.Replace(url, servers.Servers[0].Host(), strings.Join(hosts, ","), 1)
	storetest.Migrate(t, url)
	g.cluster = newClusterOn(t, url, make([][]string, 3), seed(t), true, newCalls(t, capacity), newSMS(t, capacity))
	g.first = g.owner()
	g.feed()
	return g
}

// primary waits until the group has one, other than a server.
func (g *group) primary(not *mariadb.Server) *mariadb.Server {
	g.t.Helper()
	var found *mariadb.Server
	if !polling.Until(electWithin, 50*time.Millisecond, func() bool {
		found = g.servers.Primary(g.t.Context())
		return found != nil && found != not
	}) {
		g.t.Fatal("the group has no primary")
	}
	return found
}

// follows fails the test unless contacts go out soon after the group has a primary.
func (g *group) follows(what string, began, elected time.Time) {
	g.t.Helper()
	before := g.sent()
	if !polling.Until(electWithin, 2*time.Millisecond, func() bool { return g.sent() > before }) {
		g.t.Fatalf("%s: nothing goes out any more", what)
	}
	now := time.Now()
	took := now.Sub(elected) - g.pulse.still(elected, now)
	g.longest = max(g.longest, now.Sub(began))
	g.t.Logf("CELL group, %s: a primary after %v, the next contact %v later", what, elected.Sub(began).Round(time.Millisecond), took.Round(time.Millisecond))
	if took > followWithin {
		g.t.Errorf("%s: the next contact went out %v after the group had a primary, want %v at most", what, took, followWithin)
	}
	for _, b := range g.members {
		b.ups = append(b.ups, now)
	}
}

// same fails the test if another process owns the database, or one has ended.
func (g *group) same() {
	g.t.Helper()
	if now := g.owner(); now != g.first {
		g.t.Error("another process owns the database")
	}
	for i, b := range g.members {
		select {
		case <-b.gone:
			g.t.Errorf("process %d has ended: %v", i, b.cmd.ProcessState)
		default:
		}
		text, _ := os.ReadFile(b.log)
		if n, want := bytes.Count(text, []byte("joined the store")), map[bool]int{true: 1}[b == g.first]; n != want {
			g.t.Errorf("process %d became the owner %d times, want %d", i, n, want)
		}
	}
}

// done lets everything finish. Nothing can be stored while the group has no primary.
func (g *group) done(what string) {
	g.t.Helper()
	g.same()
	g.settle("group, "+what, g.longest)
}

func (g *group) db(s *mariadb.Server) *sql.DB {
	g.t.Helper()
	db, err := mariadb.Open(s.Address())
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = db.Close() })
	return db
}

func pause(t *testing.T, from int) {
	t.Helper()
	rest(nil, time.Duration(from+rand.IntN(500))*time.Millisecond)
}

func TestGroup_PrimaryKilled(t *testing.T) {
	g := newGroup(t)
	pause(t, 2000)
	former := g.primary(nil)
	began := time.Now()
	former.Kill()
	g.primary(former)
	g.follows("killed", began, time.Now())
	pause(t, 2000)
	if err := former.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := former.Join(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	pause(t, 2000)
	g.done("killed")
}

// A server that stands still keeps its connections, and wakes as one that takes itself for the
// primary.
func TestGroup_PrimaryStopped(t *testing.T) {
	g := newGroup(t)
	pause(t, 2000)
	former := g.primary(nil)
	began := time.Now()
	signalServer(t, former, syscall.SIGSTOP)
	g.primary(former)
	g.follows("stopped", began, time.Now())
	pause(t, 2000)
	signalServer(t, former, syscall.SIGCONT)
	pause(t, 8000)
	g.done("stopped")
}

// A proxy keeps Weir from the primary: what is sent there is lost without an error.
func TestGroup_PrimaryBehindABrokenWire(t *testing.T) {
	g := newGroup(t)
	pause(t, 2000)
	primary := g.primary(nil)
	began := time.Now()
	g.wires[primary].cut()
	pause(t, 12000)
	next := g.servers.Servers[0]
	if next == primary {
		next = g.servers.Servers[1]
	}
	g.promote(next)
	g.follows("cut off from Weir", began, time.Now())
	g.wires[primary].mend()
	pause(t, 2000)
	g.done("cut off from Weir")
}

// A primary that does not see the other members still takes itself for one, and blocks each
// COMMIT.
func TestGroup_PrimaryWithoutMajority(t *testing.T) {
	g := newGroup(t)
	pause(t, 2000)
	primary := g.primary(nil)
	began := time.Now()
	for _, s := range g.servers.Servers {
		if s != primary {
			signalServer(t, s, syscall.SIGSTOP)
		}
	}
	pause(t, 15000)
	for _, s := range g.servers.Servers {
		if s != primary {
			signalServer(t, s, syscall.SIGCONT)
		}
	}
	db := g.db(primary)
	eventually(t, electWithin, "the primary sees a majority", func() bool {
		var n int
		err := db.QueryRow("SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'").Scan(&n)
		return err == nil && n >= 2
	})
	g.follows("without a majority", began, time.Now())
	pause(t, 2000)
	g.done("without a majority")
}

func TestGroup_PrimarySwitched(t *testing.T) {
	g := newGroup(t)
	for range 2 {
		for _, next := range g.servers.Servers {
			pause(t, 1000)
			began := time.Now()
			g.promote(next)
			g.follows("switched", began, time.Now())
		}
	}
	g.done("switched")
}

// promote makes a server the primary.
func (g *group) promote(s *mariadb.Server) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), electWithin)
	defer cancel()
	var said string
	if err := g.db(s).QueryRowContext(ctx, "SELECT group_replication_set_as_primary(@@server_uuid)").Scan(&said); err != nil {
		g.t.Fatalf("switch the primary: %v", err)
	}
}

func signalServer(t *testing.T, s *mariadb.Server, what syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(s.PID(), what); err != nil {
		t.Fatal(err)
	}
}

// wire passes connections on to a server, until it is cut: then nothing arrives any more, and
// no connection is closed.
type wire struct {
	address, server string
	mu              sync.Mutex
	broken          chan struct{} // closed while it is cut
	conns           []net.Conn
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	w := &wire{address: freeAddress(t), server: server, broken: make(chan struct{})}
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.pass(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.mu.Unlock()
		running.Wait()
	})
	return w
}

func (w *wire) pass(client net.Conn) {
	w.mu.Lock()
	broken := w.broken
	w.conns = append(w.conns, client)
	w.mu.Unlock()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		_ = client.Close()
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, server)
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { carry(server, client, broken) })
	both.Go(func() { carry(client, server, broken) })
	both.Wait()
}

// carry copies from one side to the other. On a broken wire it swallows everything.
func carry(to, from net.Conn, broken <-chan struct{}) {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		select {
		case <-broken:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if err == nil {
			_, err = to.Write(part[:n])
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.broken)
}

// mend lets new connections through.
func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = make(chan struct{})
}

// TestGroup_Refused opens groups that cannot be used: each in one line that says what to do.
func TestGroup_Refused(t *testing.T) {
	servers := startGroup(t)
	first, second := servers.Servers[0], servers.Servers[1]
	url, err := mariadb.CreateDatabase(t.Context(), first.Address(), "weir")
	if err != nil {
		t.Fatal(err)
	}
	do := func(s *mariadb.Server, texts ...string) {
		t.Helper()
		db, err := mariadb.Open(s.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for _, text := range texts {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused := func(url, want string) {
		t.Helper()
		db, err := persistence.OpenDatabase(t.Context(), url, slog.New(slog.DiscardHandler))
		if err == nil {
			_ = db.Close()
		}
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	all := strings.Replace(url, first.Host(), servers.Hosts(), 1)
	refused(all, "")
	refused(url, "")
	refused(strings.Replace(url, first.Host(), second.Host(), 1), "not the PRIMARY of its group, but SECONDARY")

	do(first, "CREATE USER ann@'%' IDENTIFIED BY 'a'", "GRANT ALL ON weir.* TO ann@'%'")
	const grant = "GRANT SELECT ON performance_schema.replication_group_members TO 'ann'@'%'"
	anns := func(url string) string { return strings.Replace(url, "weir:weir@", "ann:a@", 1) }
	refused(anns(url), "run: "+grant)
	do(first, grant)
	refused(anns(url), "")

	do(second, "SET GLOBAL group_replication_consistency = 'EVENTUAL'")
	refused(all, second.Host()+": mysql: the server's group has group_replication_consistency = EVENTUAL")
	do(second, "SET GLOBAL group_replication_consistency = 'BEFORE'")
	refused(all, "")
	do(second, "STOP GROUP_REPLICATION")
	refused(strings.Replace(url, first.Host(), second.Host(), 1), "not ONLINE in its group, but OFFLINE")
}
