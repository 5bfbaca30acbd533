package persistence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/events"
	"weir/persistence/channels"
	"weir/persistence/commit"
	"weir/persistence/contacts"
	dbase "weir/persistence/database"
	"weir/persistence/dialect"
	eventstore "weir/persistence/events"
	"weir/persistence/limits"
	"weir/persistence/mysql"
	"weir/persistence/operators"
	"weir/persistence/people"
	"weir/persistence/router"
	"weir/persistence/sqlite"
	"weir/persistence/surveys"
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
	LeaseTTL time.Duration // of the database; default 5 s
	// ContactEvents says when the events of contacts are written; default: events.WhenSubscribed.
	ContactEvents events.When
	// DefaultCapacity is that of channels that set none; default: 100.
	DefaultCapacity int
	// IndexEvery is how many contacts a batch adds to the index by channel, where the store writes that
	// later; default: 4000.
	IndexEvery int
	// URL returns the URL again, if it may have changed: its user and password are those of
	// the next connection. nil: it does not change.
	URL      func() (string, error)
	Existing bool // refuse a SQLite file that does not exist, instead of making it
}

// Metrics are the figures of a store.
type Metrics struct {
	commit *dbase.Metrics
	dead   *contacts.Metrics
}

// NewMetrics registers the figures, at zero.
func NewMetrics(r prometheus.Registerer) *Metrics {
	return &Metrics{dbase.NewMetrics(r), contacts.NewMetrics(r)}
}

// The stores that a Store is put together from.
type (
	queueStore    = contacts.Store
	channelStore  = channels.Store
	eventLog      = eventstore.Log
	receiverStore = eventstore.Receivers
	webhookStore  = eventstore.Webhooks
	surveyStore   = surveys.Store
	routerStore   = router.Store
	peopleStore   = people.Store
	limitStore    = limits.Store
	adminStore    = operators.Store
)

// Store is the durable half of the broker. It serves every role that package
// weir declares for a store. Writing needs [Store.Join].
type Store struct {
	*queueStore
	*channelStore
	*eventLog
	*receiverStore
	*webhookStore
	*surveyStore
	*routerStore
	*peopleStore
	*limitStore
	*adminStore
	db *commit.DB
}

var (
	_ weir.Accepter      = (*Store)(nil)
	_ weir.Committer     = (*Store)(nil)
	_ weir.ContactReader = (*Store)(nil)
	_ weir.QueueReader   = (*Store)(nil)
	_ weir.ChannelStore  = (*Store)(nil)
	_ weir.IncomingStore = (*Store)(nil)
	_ weir.AddressReader = (*Store)(nil)
	_ events.Interest    = (*Store)(nil)
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
	if o.URL != nil {
		db.Renew(func() (string, error) {
			url, err := o.URL()
			_, address, _ := strings.Cut(url, "://")
			return address, err
		})
	}
	return On(db, o), nil
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

// On is a store on a database that [OpenDatabase] opened. Closing the store
// closes the database.
func On(database dialect.Database, o Options) *Store {
	o = withDefaults(o)
	scheme, _ := database.Migrations()
	db := commit.New(database, scheme, dbase.Config{Log: o.Logger, Metrics: o.Metrics.commit, LeaseTTL: o.LeaseTTL})
	db.ContactEvents = o.ContactEvents
	s := &Store{
		db: db, channelStore: channels.New(db), eventLog: eventstore.NewLog(db), receiverStore: &eventstore.Receivers{DB: db},
		routerStore: &router.Store{DB: db}, adminStore: &operators.Store{DB: db},
	}
	s.webhookStore = eventstore.NewWebhooks(db, s.eventLog)
	s.limitStore = limits.New(db)
	s.peopleStore = people.New(db, s.limitStore)
	outbox := surveys.NewOutbox(db)
	s.queueStore = contacts.New(db, s.channelStore, s.eventLog, o.Metrics.dead, outbox, s.peopleStore.Gate())
	s.queueStore.SetIndexEvery(o.IndexEvery)
	s.surveyStore = surveys.New(db, s.queueStore.Queue, outbox, s.limitStore)
	s.peopleStore.Connect(s.queueStore.InFlightNow, s.queueStore.Queue, s.surveyStore.Budgets)
	s.channelStore.DefaultCapacity = o.DefaultCapacity
	db.SetParts(s.queueStore.Part(), outbox, s.peopleStore.Gate(), s.eventLog.Part())
	db.Self.Schema = s.NewestStep()
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
		o.LeaseTTL = 5 * time.Second
	}
	if o.DefaultCapacity == 0 {
		o.DefaultCapacity = 100
	}
	return o
}

// Waiting returns how many requests wait for the group-commit writer.
func (s *Store) Waiting() int { return s.db.Waiting() }

// Own makes this process the owner of the database: it waits until no other process is.
func (s *Store) Own(ctx context.Context) error { return s.db.Own(ctx, true) }

// TryOwn makes this process the owner of the database, unless another one is; then it returns
// [dialect.ErrMember].
func (s *Store) TryOwn(ctx context.Context) error { return s.db.Own(ctx, false) }

// Introduce says what other processes are to know of this one. It comes before Own.
func (s *Store) Introduce(p dbase.Process) {
	p.Schema = s.db.Self.Schema
	s.db.Self = p
}

// ServerAddress is HOST:PORT of the database server; empty: the database is a file, which
// other processes cannot use at the same time.
func (s *Store) ServerAddress() string { return s.db.Database.ServerAddress() }

// OwnerStatus returns the owner as this process last read it, and a channel that is closed once it
// changes; see [dbase.Member.OwnerStatus].
func (s *Store) OwnerStatus() (dbase.OwnerStatus, <-chan struct{}) { return s.db.OwnerStatus() }

// SetUnresponsive sets the source of how long this process has not answered a request to itself.
// The owner of a leased database gives it up for that, as well. It comes before Join.
func (s *Store) SetUnresponsive(since func(now time.Time) time.Duration) { s.db.Unresponsive = since }

// Poke makes a process that waits to become the owner poll at once.
func (s *Store) Poke() { s.db.Poke() }

// Succeed says which process the owner has named to be the next one.
func (s *Store) Succeed(start int64) { s.db.Succeed(start) }

// Follow looks who the owner is, until ctx ends. It is for a process that has released the
// database.
func (s *Store) Follow(ctx context.Context) { s.db.Follow(ctx) }

// Processes lists the processes that have registered, the newest first. Some have ended.
func (s *Store) Processes(ctx context.Context) ([]dbase.Process, error) { return s.db.Processes(ctx) }

// Owns reports whether this process has become the owner of the database.
func (s *Store) Owns() bool { return s.db.Owns() }

// Epoch is the number of this process's ownership; 0: it has none.
func (s *Store) Epoch() int64 { return s.db.Epoch() }

// OwnerChanges is how often this process saw the owner of the database change; see
// [dbase.Member.OwnerChanges].
func (s *Store) OwnerChanges() int64 { return s.db.OwnerChanges() }

// Began returns when this process became the owner, and for how long it had seen the database
// without one; zero: it has not.
func (s *Store) Began() (since time.Time, vacancy time.Duration) { return s.db.Began() }

// Hindered is why this process, which waits, could not take the database; empty: it could, as
// far as is known.
func (s *Store) Hindered() string { return s.db.Hindered() }

// OldestStep is the step of the schema that a program has to know to run on it.
func (s *Store) OldestStep(ctx context.Context) (int64, error) { return s.db.OldestStep(ctx) }

// Release flushes the writer's queue, as long as ctx allows, and releases the database. Reads still work.
func (s *Store) Release(ctx context.Context) error { return s.db.Release(ctx) }

// Join makes this process the owner of the database, if it is not, reads what earlier owners
// have left, and starts the writer.
func (s *Store) Join(ctx context.Context) error { return s.db.Join(ctx, s.Recover) }

// Incarnate begins an incarnation of a channel's broker, or with channel 0 of the router; see
// [commit.DB.Incarnate].
func (s *Store) Incarnate(ctx context.Context, channel weir.ChannelID) (weir.Incarnation, error) {
	return s.db.Incarnate(ctx, channel)
}

// Start is the number of this process's start; 0 before it has one.
func (s *Store) Start() int64 { return s.db.Start() }

// Valid reports whether this process certainly owns the database, and may act.
func (s *Store) Valid() bool { return s.db.Valid() }

// Lost is closed when another process has become the owner of the database.
func (s *Store) Lost() <-chan struct{} { return s.db.Lost() }

// Missing returns an error that says since when the database lacks commits that it has confirmed
// to this process; nil: it lacks none.
func (s *Store) Missing() error { return s.db.Missing() }

// Ready returns an error unless the store can work: the schema is current, the
// database takes writes and is not damaged, and the writer's last commit did not fail. The writer
// tries again and again, so the last is of a moment ago.
func (s *Store) Ready(ctx context.Context) error {
	pending, err := s.Pending(ctx)
	if err != nil {
		return s.db.Failure("look at the schema", err)
	}
	if pending > 0 {
		return fmt.Errorf("the database schema has %d pending migrations; run: weir migrate up", pending)
	}
	return s.db.Ready(ctx)
}

// CheckPresent returns an error once the file of the database is no longer where it was opened,
// and then this process gives it up; see [Store.Lost].
func (s *Store) CheckPresent() error { return s.db.CheckPresent() }

// Room returns a [dialect.NoRoomError] if the disk of the database has too little room to start
// on it, which takes more if steps of the schema are pending.
func (s *Store) Room(ctx context.Context) error {
	err := s.db.Database.Room(true)
	if err == nil {
		return nil
	}
	if pending, failed := s.Pending(ctx); failed != nil || pending > 0 {
		return errors.Join(err, failed)
	}
	return s.db.Database.Room(false)
}

// Close flushes the writer's queue, as long as ctx allows, then releases and closes the
// database.
func (s *Store) Close(ctx context.Context) error { return s.db.Close(ctx) }
