package persistence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/pressly/goose/v3"

	"weir/migrations"
	"weir/persistence/dialect"
)

// Step is one step of the schema.
type Step struct {
	Number    int64
	Name      string
	Applied   bool
	AppliedAt time.Time
}

// MigrateUp brings the schema to its newest state. It is for the owner of the database;
// another process becomes it, or is refused while there is one.
func (s *Store) MigrateUp(ctx context.Context) error {
	return s.migrate(ctx, func(p *goose.Provider) error {
		before, err := p.GetDBVersion(ctx)
		if err != nil {
			return err
		}
		what := "schema migrated"
		if before == 0 {
			what = "schema created"
		}
		results, err := p.Up(ctx)
		s.logSteps(what, results)
		if err != nil {
			return err
		}
		return s.db.Migrated(ctx)
	})
}

// MigrateDown reverts the newest steps, under the same condition.
func (s *Store) MigrateDown(ctx context.Context, steps int) error {
	return s.migrate(ctx, func(p *goose.Provider) error {
		var results []*goose.MigrationResult
		defer func() { s.logSteps("schema steps reverted", results) }()
		for range steps {
			result, err := p.Down(ctx)
			if errors.Is(err, goose.ErrNoNextVersion) {
				return nil
			}
			if err != nil {
				return err
			}
			results = append(results, result)
		}
		return nil
	})
}

func (s *Store) migrate(ctx context.Context, run func(*goose.Provider) error) error {
	err := s.db.Own(ctx, false)
	if errors.Is(err, dialect.ErrMember) {
		return fmt.Errorf("migrate: %w: a Weir that runs, which has to be stopped first, or another migration, which has to end "+
			"(on MySQL, one that was killed counts for WEIR_LEASE_TTL); nothing was changed", err)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	p, err := s.provider()
	if err != nil {
		return err
	}
	if err := run(p); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// logSteps logs one line for all steps, and each step for debugging.
func (s *Store) logSteps(what string, results []*goose.MigrationResult) {
	if len(results) == 0 {
		return
	}
	var took time.Duration
	for _, r := range results {
		s.db.Logger.Debug("schema step", "direction", r.Direction, "step", r.Source.Path, "took", r.Duration)
		took += r.Duration
	}
	last := results[len(results)-1].Source
	s.db.Logger.Info(what, "steps", len(results), "last", last.Version, "took", took.Round(time.Millisecond)) //nolint:sloglint // one of three texts
}

// Status lists the steps that this program knows, oldest first.
func (s *Store) Status(ctx context.Context) ([]Step, error) {
	if err := s.db.CheckForeign(ctx); err != nil { // before goose makes its table
		return nil, fmt.Errorf("migration status: %w", err)
	}
	p, err := s.provider()
	if err != nil {
		return nil, err
	}
	found, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	steps := make([]Step, 0, len(found))
	for _, f := range found {
		steps = append(steps, Step{
			Number: f.Source.Version, Name: f.Source.Path,
			Applied: f.State == goose.StateApplied, AppliedAt: f.AppliedAt.UTC(),
		})
	}
	return steps, nil
}

// Pending counts the steps that are still to be taken. It changes nothing.
func (s *Store) Pending(ctx context.Context) (int, error) {
	numbers, err := s.numbers()
	if err != nil {
		return 0, err
	}
	var done int64
	err = s.db.Read.GetContext(ctx, &done, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version")
	if err != nil {
		// An empty database has no such table; one that is down has nothing.
		if errPing := s.db.Read.GetContext(ctx, new(int), "SELECT 1"); errPing != nil {
			return 0, s.db.Failure("look at the schema", errPing)
		}
		return len(numbers), nil
	}
	pending := 0
	for _, n := range numbers {
		if n > done {
			pending++
		}
	}
	return pending, nil
}

// Ahead counts the steps that the schema has taken and this program does not
// know: a newer one was here.
func (s *Store) Ahead(ctx context.Context) (int, error) {
	numbers, err := s.numbers()
	if err != nil {
		return 0, err
	}
	var ahead int
	err = s.db.Read.GetContext(ctx, &ahead, s.db.Read.Rebind("SELECT COUNT(DISTINCT version_id) FROM goose_db_version WHERE version_id > ?"), slices.Max(numbers))
	if err != nil {
		return 0, s.db.Failure("look at the schema", err)
	}
	return ahead, nil
}

// NewestStep is the number of the newest step that this program knows.
func (s *Store) NewestStep() int64 {
	numbers, err := s.numbers()
	if err != nil || len(numbers) == 0 {
		return 0 // it owns no database, then; every use of the steps says why
	}
	return slices.Max(numbers)
}

// numbers lists the numbers of the steps that this program knows.
func (s *Store) numbers() ([]int64, error) {
	fsys, err := s.steps()
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	numbers := make([]int64, 0, len(names))
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func (s *Store) steps() (fs.FS, error) {
	folder, _ := s.db.Database.Migrations()
	fsys, err := migrations.For(folder)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return fsys, nil
}

func (s *Store) provider() (*goose.Provider, error) {
	fsys, err := s.steps()
	if err != nil {
		return nil, err
	}
	_, name := s.db.Database.Migrations()
	p, err := goose.NewProvider(name, s.db.Write.DB, fsys, goose.WithDisableGlobalRegistry(true), goose.WithSlog(s.db.Logger))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}
