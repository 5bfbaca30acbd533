package mysql

import (
	"bytes"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	mysql "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

// proxy stands between a client and the server, and cuts the connection at
// a message that ends in COMMIT.
type proxy struct {
	listener net.Listener
	network  string // of the server
	address  string
	running  sync.WaitGroup

	mu      sync.Mutex
	cut     cut
	commits int // messages that end in COMMIT
	clients int
}

type cut int

const (
	never  cut = iota
	before     // the server does not receive it
	after      // the server has answered, but the client does not receive the answer
)

func newProxy(t *testing.T, cfg *mysql.Config) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, network: cfg.Net, address: cfg.Addr}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.running.Wait()
	})
	return p
}

// set sets where the proxy cuts from now on, and returns the number of COMMITs and
// clients so far.
func (p *proxy) set(c cut) (commits, clients int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = c
	return p.commits, p.clients
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.clients++
		p.mu.Unlock()
		lose := make(chan struct{})
		p.running.Go(func() { p.there(client, server, lose) })
		p.running.Go(func() { p.back(client, server, lose) })
	}
}

// there forwards messages to the server.
func (p *proxy) there(client, server net.Conn, lose chan<- struct{}) {
	defer func() { _ = server.Close(); _ = client.Close() }()
	for {
		packet, err := readPacket(client)
		if err != nil {
			return
		}
		switch p.judge(packet) {
		case before:
			return
		case after:
			close(lose)
		case never:
		}
		if _, err := server.Write(packet); err != nil {
			return
		}
	}
}

func (p *proxy) judge(packet []byte) cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.HasSuffix(string(packet), "COMMIT") {
		return never
	}
	p.commits++
	return p.cut
}

// back forwards answers to the client.
func (p *proxy) back(client, server net.Conn, lose <-chan struct{}) {
	defer func() { _ = server.Close(); _ = client.Close() }()
	answer := make([]byte, 32<<10)
	for {
		n, err := server.Read(answer)
		if err != nil {
			return
		}
		select {
		case <-lose:
			readAnswer(io.MultiReader(bytes.NewReader(answer[:n]), server))
			return
		default:
		}
		if _, err := client.Write(answer[:n]); err != nil {
			return
		}
	}
}

// readAnswer reads until the server has executed the last statement of a message. The
// server would skip the rest if its client closed the connection before.
func readAnswer(from io.Reader) {
	const more = 0x08 // a bit of the status that follows two numbers, small ones here
	for {
		packet, err := readPacket(from)
		if err != nil || len(packet) < 9 || packet[4] != 0 || packet[7]&more == 0 {
			return
		}
	}
}

// readPacket reads a packet with its header, which holds its length in three bytes.
func readPacket(from io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	packet := append(head, make([]byte, length)...)
	_, err := io.ReadFull(from, packet[4:])
	return packet, err
}

// through opens the database as the store does, through a proxy.
func through(t *testing.T) (*Database, *proxy) {
	t.Helper()
	url := testmysql.URL(t)
	cfg := settings(t, url)
	p := newProxy(t, cfg)
	cfg.Net, cfg.Addr = "tcp", p.listener.Addr().String()
	d, err := openWith(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.Pools().Write.Exec("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return d, p
}

// A connection that breaks at COMMIT leaves the outcome unknown. The error reports
// that, and nothing is retried.
func TestTransaction_BreakAtCommitLeavesTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   cut
		sent bool // before COMMIT
		want int  // rows
	}{
		"before the server got it, at the end":  {before, true, 0},
		"before the server got it, all in one":  {before, false, 0},
		"after the server did it, at the end":   {after, true, 2},
		"after the server did it, all in one":   {after, false, 2},
		"never, to see that the test would see": {never, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, p := through(t)
			tx := beginOn(t, d)
			list := []dialect.Statement{stmt("INSERT INTO t VALUES (?, 0)", 0), stmt("INSERT INTO t VALUES (?, 0)", 1)}
			if c.sent {
				if _, err := tx.Exec(t.Context(), list[:1]); err != nil {
					t.Fatal(err)
				}
				list = list[1:]
			}
			commits, clients := p.set(c.at)
			err := tx.Commit(t.Context(), list)
			if c.at == never && err != nil {
				t.Error(err)
			}
			if kind, code := d.Classify(err); c.at != never && (kind != dialect.Down || code != "connection") {
				t.Errorf("%v is a %v, %s", err, kind, code)
			}
			if now, others := p.set(never); now != commits+1 || others != clients {
				t.Errorf("%d COMMITs, %d new connections", now-commits, others-clients)
			}
			checkRows(t, d, c.want)
		})
	}
}

func beginOn(t *testing.T, d *Database) dialect.Transaction {
	t.Helper()
	tx, err := d.Begin(t.Context(), sqlx.NewDb(d.Pools().Batch, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// checkRows counts on the writer's connection, which has to be a valid one,
// and waits until the server has rolled the broken transaction back.
func checkRows(t *testing.T, d *Database, want int) {
	t.Helper()
	tx, err := d.Pools().Batch.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM t FOR UPDATE").Scan(&n); err != nil || n != want {
		t.Errorf("%d rows, want %d (%v)", n, want, err)
	}
}

// A statement that others travel with is not retried either when its connection
// breaks, and the next transaction gets another connection.
func TestTransaction_BreakBeforeCommitRepeatsNothing(t *testing.T) {
	t.Parallel()
	d, p := through(t)
	tx := beginOn(t, d)
	p.set(before)
	_, err := tx.Exec(t.Context(), []dialect.Statement{stmt("INSERT INTO t VALUES (1, 0)"), stmt("INSERT INTO t VALUES (2, 0) -- not yet a COMMIT")})
	if kind, _ := d.Classify(err); kind != dialect.Down {
		t.Errorf("%v is a %v", err, kind)
	}
	if err := tx.Commit(t.Context(), nil); err == nil {
		t.Error("it was committed")
	}
	p.set(never)
	checkRows(t, d, 0)
}

// Only transactions of the writer send several statements in one message.
func TestTransaction_OnlyTheWriterJoinsStatements(t *testing.T) {
	t.Parallel()
	d, p := through(t)
	before := d.Pools().Statements.Count()
	commits, _ := p.set(never)
	err := beginOn(t, d).Commit(t.Context(), []dialect.Statement{stmt("INSERT INTO t VALUES (?, 0)", 1), stmt("INSERT INTO t VALUES (?, 0)", 2), stmt("INSERT INTO t VALUES (?, 0)", 3)})
	if err != nil {
		t.Fatal(err)
	}
	if now, _ := p.set(never); now != commits+1 {
		t.Errorf("%d messages end in COMMIT", now-commits)
	}
	if n := d.Pools().Statements.Count() - before; n != 3 {
		t.Errorf("%d statements", n)
	}
	for name, pool := range map[string]*sql.DB{"write": d.Pools().Write, "read": d.Pools().Read, "lease": d.Pools().Lease} {
		if _, err := pool.Exec("DELETE FROM t; DELETE FROM t"); err == nil {
			t.Errorf("%s takes two statements in one", name)
		}
	}
	checkRows(t, d, 3)
}
