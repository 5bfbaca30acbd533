package persistence

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/ops"
	"weir/persistence/dialect"
	"weir/persistence/mysql"
	"weir/persistence/sqlite"
)

// openers is the table of SQL dialects by the scheme of the URL.
func openers() map[string]func(context.Context, string, *slog.Logger) (dialect.Database, error) {
	return map[string]func(context.Context, string, *slog.Logger) (dialect.Database, error){
		"mysql":  mysql.Open,
		"sqlite": sqlite.Open,
	}
}

// Options configure a store. The zero value is usable.
type Options struct {
	Logger   *slog.Logger
	Metrics  *Metrics
	Owner    string        // the name of this process among the members; default: host, chance, and which process of the host
	LeaseTTL time.Duration // default 15 s
	Existing bool          // refuse a SQLite file that does not exist, instead of making it
}

// Store is the durable half of the broker. It serves every role that package
// weir declares for a store. Writing needs [Store.Join].
type Store struct {
	database dialect.Database
	sql      dialect.Statements
	text     statements
	write    *sqlx.DB
	read     *sqlx.DB
	log      *slog.Logger
	metrics  *Metrics
	owner    string
	ttl      time.Duration
	ids      *ids
	writer   *writer
	joined   atomic.Bool
	alone    bool       // no other process can be a member
	leases   heldLeases // the leases that are ours
	roles    keptRoles
	leave    func()
	stopSkew context.CancelFunc
	onOutbox atomic.Pointer[func()]
	hooks    hooks // of events
	tokens   hooks // of tokens that other processes made or revoked
	seen     seen
}

var (
	_ weir.Accepter      = (*Store)(nil)
	_ weir.Committer     = (*Store)(nil)
	_ weir.ContactReader = (*Store)(nil)
	_ weir.QueueReader   = (*Store)(nil)
	_ weir.ChannelStore  = (*Store)(nil)
	_ weir.Leaser        = (*Store)(nil)
	_ ops.RoleLeaser     = (*Store)(nil)
	_ weir.Inbox         = (*Store)(nil)
	_ ops.Poller         = (*Store)(nil)
	_ weir.IncomingStore = (*Store)(nil)
)

// Open opens the store at a URL: sqlite://path, sqlite://:memory: (private to
// this Store) or mysql://user:password@host:3306/database. It does not change
// the database.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	o = withDefaults(o)
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok && o.Existing && path != ":memory:" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("database: there is no SQLite file %s; set DATABASE_URL to the file that Weir uses, or make a new one with weir migrate up", path)
		}
	}
	db, err := OpenDatabase(ctx, url, o.Logger)
	if err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(url, "://")
	return newStore(db, scheme, o), nil
}

// OpenDatabase opens the database alone, at a URL as Open takes it.
func OpenDatabase(ctx context.Context, url string, log *slog.Logger) (dialect.Database, error) {
	scheme, address, ok := strings.Cut(url, "://")
	known := strings.Join(slices.Sorted(maps.Keys(openers())), "://, ") + "://"
	if !ok { // not shown: it may hold a password
		return nil, fmt.Errorf("database URL: it has no scheme; want one of %s", known)
	}
	open := openers()[scheme]
	if open == nil {
		return nil, fmt.Errorf("database URL: scheme %q is not known; want one of %s", scheme, known)
	}
	db, err := open(ctx, address, log)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return db, nil
}

func newStore(db dialect.Database, scheme string, o Options) *Store {
	pools := db.Pools()
	s := &Store{
		database: db, sql: db.Statements(),
		write: sqlx.NewDb(pools.Write, scheme), read: sqlx.NewDb(pools.Read, scheme),
		log: o.Logger, metrics: o.Metrics, owner: o.Owner, ttl: o.LeaseTTL, ids: newIDs(0),
	}
	s.roles.turn = make(chan struct{}, 1)
	s.metrics.statements.Store(pools.Statements)
	s.text = newStatements(s.sql)
	s.writer = newWriter(s)
	return s
}

func withDefaults(o Options) Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = 15 * time.Second
	}
	if o.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "weir"
		}
		o.Owner = strings.TrimSuffix(fmt.Sprintf("%.100s-%s-%s", host, strings.ToLower(rand.Text()[:10]), processID(os.Getpid())), "-")
	}
	return o
}

// Owner is the name of this process in leases.
func (s *Store) Owner() string { return s.owner }

// Join makes this process a member: it waits until no other process stands in
// the way, gives back what a former life of it held, and starts the writer.
func (s *Store) Join(ctx context.Context) error {
	if s.joined.Load() {
		return errors.New("the store was joined already")
	}
	leave, alone, err := s.database.Join(ctx, s.owner)
	if err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	start, err := s.register(ctx, alone)
	if err != nil {
		leave()
		return fmt.Errorf("join the store: %w", err)
	}
	s.leave = leave
	s.ids.node = start % nodes
	s.alone = alone
	s.writer.begin(start)
	s.watchClock()
	s.joined.Store(true)
	if err := s.recoverGone(ctx); err != nil {
		return fmt.Errorf("join the store: recover contacts in flight: %w", err)
	}
	s.log.Info("joined the store", "owner", s.owner, "start", start)
	return nil
}

// register counts this start and frees the leases of processes that are
// certain to be gone.
func (s *Store) register(ctx context.Context, alone bool) (start int64, err error) {
	err = s.transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = value + 1 WHERE name = 'starts'"); err != nil {
			return err
		}
		if err := tx.GetContext(ctx, &start, "SELECT value FROM meta WHERE name = 'starts'"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO writers (start_number, owner, batch) VALUES (?, ?, 0)", start, s.owner); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM writers WHERE start_number < ?", start-100*nodes); err != nil {
			return err
		}
		return s.freeDead(ctx, tx, alone)
	})
	return start, err
}

// freeDead frees the leases and roles of this process's former life and of
// processes that are certainly dead: all others, if it is alone.
func (s *Store) freeDead(ctx context.Context, tx *sqlx.Tx, alone bool) error {
	for _, table := range []string{"leases", "roles"} {
		var owners []string
		if err := tx.SelectContext(ctx, &owners, "SELECT DISTINCT owner FROM "+table+" WHERE owner <> ''"); err != nil {
			return err
		}
		for _, owner := range owners {
			if !alone && owner != s.owner && !certainlyDead(owner) {
				continue
			}
			if _, err := tx.ExecContext(ctx, "UPDATE "+table+" SET owner = '', expires_at = 0 WHERE owner = ?", owner); err != nil {
				return err
			}
			if err := fenceOff(ctx, tx, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// Ready returns an error unless the store can work: the schema is current, the
// database takes writes, and the writer's last commit did not fail. The writer
// tries again and again, so the last is of a moment ago.
func (s *Store) Ready(ctx context.Context) error {
	pending, err := s.Pending(ctx)
	if err != nil {
		return s.failure("look at the schema", err)
	}
	if pending > 0 {
		return fmt.Errorf("the database schema has %d pending migrations; run: weir migrate up", pending)
	}
	if err := s.database.Writable(ctx); err != nil {
		return s.failure("try to write", err)
	}
	if s.writer.down.Load() {
		return unavailable("changes cannot be committed (is the disk full?); the log has the reason", nil)
	}
	return nil
}

// Close ends the writer after it has written what it was handed, as long as
// ctx allows, and closes the database. Leases are not given back.
func (s *Store) Close(ctx context.Context) error {
	err := s.writer.close(ctx)
	if s.stopSkew != nil {
		s.stopSkew()
	}
	if s.leave != nil {
		s.leave()
	}
	return errors.Join(err, s.database.Close())
}
