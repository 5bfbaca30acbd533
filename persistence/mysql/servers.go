package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mysql "github.com/go-sql-driver/mysql"

	"weir/persistence/dialect"
)

// serverTime is how long one of several servers may take until a connection to it is ready.
const serverTime = 2 * time.Second

// servers are the servers of one database. All pools use the same one: once a connection to
// another one succeeds, those to the former are closed.
type servers struct {
	log       *slog.Logger
	addresses []string
	// checked is set if each connection is checked: there are several servers, or a group.
	checked atomic.Bool
	renew   atomic.Pointer[func() (string, error)] // reads the address again; nil: it does not change

	mu    sync.Mutex
	order []int // in which they are tried: the one in use first, those that did not answer last
	used  int   // the one in use; -1: none yet
	turns int   // how often that has changed
	group string
	open  map[*link]struct{}
}

func newServers(cfg *mysql.Config, log *slog.Logger) *servers {
	s := &servers{log: log, addresses: []string{cfg.Addr}, used: -1, open: map[*link]struct{}{}}
	if cfg.Net != "unix" {
		s.addresses = strings.Split(cfg.Addr, ",")
	}
	for i := range s.addresses {
		s.order = append(s.order, i)
	}
	s.checked.Store(len(s.addresses) > 1)
	return s
}

// session is the connector of a pool.
type session struct {
	servers *servers
	drivers []driver.Connector // by server
}

// connector returns the connector of a pool with these settings.
func (s *servers) connector(cfg *mysql.Config) (session, error) {
	out := session{servers: s}
	for _, address := range s.addresses {
		one := cfg.Clone()
		one.Addr = address
		one.DialFunc = dial
		if err := one.Apply(mysql.BeforeConnect(func(_ context.Context, now *mysql.Config) error { s.setAccount(now); return nil })); err != nil {
			return session{}, fmt.Errorf("mysql: %w", err)
		}
		c, err := mysql.NewConnector(one)
		if err != nil {
			return session{}, fmt.Errorf("mysql: %w", err)
		}
		out.drivers = append(out.drivers, c)
	}
	return out, nil
}

// setAccount sets the user and the password for a new connection, as they are now. If they
// cannot be read, those of the start may still be valid.
func (s *servers) setAccount(cfg *mysql.Config) {
	renew := s.renew.Load()
	if renew == nil {
		return
	}
	address, err := (*renew)()
	var now *mysql.Config
	if err == nil {
		now, err = parse(address)
	}
	if err != nil {
		s.log.Warn("the password of the database cannot be read again; using that of the start", "error", err)
		return
	}
	cfg.User, cfg.Passwd = now.User, now.Passwd
}

// connection is the set of interfaces that connections of the driver implement.
type connection interface {
	dialect.Connection
	driver.NamedValueChecker
}

// link is one connection of a pool.
type link struct {
	connection
	servers *servers
	server  int
	net     net.Conn
	cut     bool // the servers have closed it
}

type linkKey struct{}

// dial opens the connection of the link in ctx.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if l, ok := ctx.Value(linkKey{}).(*link); ok && err == nil {
		l.net = c
	}
	return c, err
}

// Close implements driver.Conn.
func (l *link) Close() error {
	cut := l.servers.forget(l)
	err := l.connection.Close()
	if cut {
		return nil
	}
	return err
}

// IsValid implements driver.Validator.
func (l *link) IsValid() bool { return l.servers.uses(l.server) && l.connection.IsValid() }

// ResetSession implements driver.SessionResetter.
func (l *link) ResetSession(ctx context.Context) error {
	if !l.servers.uses(l.server) {
		return driver.ErrBadConn
	}
	return l.connection.ResetSession(ctx)
}

// Driver implements driver.Connector.
func (s session) Driver() driver.Driver { return s.drivers[0].Driver() }

// Connect implements driver.Connector: it tries one server after the other.
func (s session) Connect(ctx context.Context) (driver.Conn, error) {
	for {
		order, turn := s.servers.next()
		var failures []error
		for _, i := range order {
			l, err := s.connect(ctx, i)
			if err == nil {
				if s.servers.use(l, turn) {
					return l, nil
				}
				// Another pool has found a server meanwhile. It asked later.
				_ = l.connection.Close()
				break
			}
			if len(order) == 1 || ctx.Err() != nil {
				return nil, err
			}
			s.servers.failed(i, err)
			failures = append(failures, fmt.Errorf("%s: %w", s.servers.addresses[i], err))
		}
		if len(failures) == len(order) {
			return nil, &noServerError{failures}
		}
	}
}

// connect opens a connection to a server that can be used.
func (s session) connect(ctx context.Context, i int) (*link, error) {
	if len(s.drivers) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, serverTime)
		defer cancel()
	}
	l, err := s.prepare(ctx, i)
	if err != nil || !s.servers.checked.Load() {
		return l, err
	}
	f, err := readFacts(ctx, l)
	if err == nil {
		err = s.servers.refuse(f)
	}
	if err != nil {
		_ = l.connection.Close()
		return nil, err
	}
	return l, nil
}

// prepare opens a connection and makes its settings. A statement sets the isolation level,
// because its variable has two names.
func (s session) prepare(ctx context.Context, i int) (*link, error) {
	l := &link{servers: s.servers, server: i}
	c, err := s.drivers[i].Connect(context.WithValue(ctx, linkKey{}, l))
	if err != nil {
		return nil, err
	}
	whole, ok := c.(connection)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("mysql: a connection of type %T cannot do what the store needs", c)
	}
	l.connection = whole
	for _, q := range []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		// The server may ignore the character set of the handshake.
		"SET SESSION character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, " +
			"innodb_lock_wait_timeout = 3, lock_wait_timeout = 10, time_zone = '+00:00', " +
			"sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'" + idleSettings,
	} {
		if _, err := whole.ExecContext(ctx, q, nil); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("mysql: prepare the session: %w", err)
		}
	}
	return l, nil
}

// next returns the order in which the servers are to be tried, and the turn.
func (s *servers) next() (order []int, turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order), s.turns
}

// use notes that a connection is ready. It reports false if another server has come into use
// since a turn. Connections to the former server are closed: what waits there would wait
// for its time limit, and what is read there may be old.
func (s *servers) use(l *link, turn int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.server != s.used && turn != s.turns {
		return false
	}
	if l.server != s.used {
		if s.used >= 0 {
			s.log.Warn("database server changed", "server", s.addresses[l.server], "former", s.addresses[s.used])
		}
		s.used, s.turns = l.server, s.turns+1
		s.order = movedTo(s.order, l.server, 0)
		s.cut()
	}
	s.open[l] = struct{}{}
	return true
}

// failed notes that a server cannot be used. One that did not answer is tried last from now on,
// so that the others do not wait for it.
func (s *servers) failed(i int, err error) {
	s.log.Debug("database server cannot be used", "server", s.addresses[i], "error", err)
	if _, ok := errors.AsType[*refusal](err); ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = movedTo(s.order, i, len(s.order)-1)
}

// movedTo returns a list with an element at another place.
func movedTo(list []int, element, place int) []int {
	rest := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i == element })
	return slices.Insert(rest, place, element)
}

// refuse returns why a server with these facts cannot be used; nil: it can.
func (s *servers) refuse(f facts) error {
	if r := f.unusable(); r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.group != s.group {
		return lasting("the server is not of this database: %s, before %s", groupOf(f), groupOf(facts{group: s.group}))
	}
	return nil
}

func (s *servers) uses(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used == i
}

// forget forgets a connection, and reports whether it was cut.
func (s *servers) forget(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, l)
	return l.cut
}

// disconnect closes all connections, whatever waits on them.
func (s *servers) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
}

// cut closes the connections below those of the driver, which closes none while it waits for
// an answer. The caller holds the lock.
func (s *servers) cut() {
	for l := range s.open {
		l.cut = true
		_ = l.net.Close()
	}
}

// inUse returns the address of the server in use, or of the first one.
func (s *servers) inUse() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses[max(0, s.used)]
}

// survey asks all servers for their roles before the first one is used, since what is wrong
// with one of them would show only when it is needed. Those that do not answer are left out.
func (s session) survey(ctx context.Context) error {
	all := map[string]facts{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for i, address := range s.servers.addresses {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, serverTime)
			defer cancel()
			var f facts
			l, err := s.prepare(ctx, i)
			if err == nil {
				f, err = readFacts(ctx, l)
				_ = l.connection.Close()
			}
			if err != nil {
				s.servers.log.Warn("database server cannot be checked", "server", address, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all[address] = f
		})
	}
	asked.Wait()
	for _, address := range s.servers.addresses {
		if f, ok := all[address]; ok {
			if r := f.unfit(); r != nil {
				return fmt.Errorf("%s: %w", address, r)
			}
			s.servers.belong(f.group)
		}
	}
	if r := disagreement(s.servers.addresses, all); r != nil {
		return r
	}
	return nil
}

// belong notes the group of the servers.
func (s *servers) belong(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group = group
}

// noServerError reports that none of several servers can be used.
type noServerError struct{ failures []error }

// Error implements error.
func (e *noServerError) Error() string {
	list := make([]string, len(e.failures))
	for i, err := range e.failures {
		list[i] = strings.ReplaceAll(err.Error(), "mysql: ", "")
	}
	return "mysql: no server can be used: " + strings.Join(list, "; ")
}

// Unwrap returns what was wrong with each server.
func (e *noServerError) Unwrap() []error { return e.failures }
