package server

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/persistence"
)

// closeTimeout is the maximum time to close a store that has nothing left to write.
const closeTimeout = 5 * time.Second

// MigrateCommand makes "weir migrate".
func MigrateCommand(a *app.App) *cobra.Command {
	return command.Group("migrate", "Migrate the database schema",
		"Apply, revert or list the migrations of the database schema. DATABASE_URL names the\ndatabase.",
		a.PlainCommand("up", "Apply all pending migrations", "Apply all pending migrations. If there are any, it is refused while\nWeir runs on the database, or another such command.", migrateUp),
		migrateDownCommand(a),
		a.PlainCommand("status", "List all migrations", "List all migrations and when they were applied.", migrateStatus))
}

// migrateUp applies pending migrations, and prints how many there were before.
func migrateUp(ctx context.Context, a *app.App) error {
	return withStore(ctx, a, false, func(s *persistence.Store) error {
		pending, err := s.Pending(ctx)
		if err != nil {
			return err
		}
		if pending > 0 { // otherwise it is allowed beside a running Weir
			if err := s.MigrateUp(ctx); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(a.Console.Stdout, "schema up to date; migrations applied: %d\n", pending)
		return err
	})
}

// migrateDownCommand makes "weir migrate down".
func migrateDownCommand(a *app.App) *cobra.Command {
	var steps int
	c := &cobra.Command{
		Use: "down", Short: "Revert the newest migrations", Args: command.NoArgs,
		Long: "Revert the newest migrations. The data of their tables and columns is lost; that\nincludes contacts if the migration that created their table is reverted. Stop every\nWeir on this database first: while one runs, nothing is reverted.",
		RunE: func(c *cobra.Command, _ []string) error {
			if steps < 1 {
				return command.UsageError(c, "--steps must be 1 or more")
			}
			if err := a.Console.Confirm(c, fmt.Sprintf("this reverts the newest %s and deletes their data", terminal.Plural(steps, "migration", "migrations"))); err != nil {
				return err
			}
			return withStore(c.Context(), a, true, func(s *persistence.Store) error { return revert(c.Context(), a.Console, s, steps) })
		},
	}
	c.Flags().IntVar(&steps, "steps", 1, "number of migrations to revert")
	return app.Confirmable(c)
}

// revert reverts up to steps migrations, and prints how many it reverted.
func revert(ctx context.Context, console *app.Console, s *persistence.Store, steps int) error {
	before, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	if err := s.MigrateDown(ctx, steps); err != nil {
		return err
	}
	// Counted in the database: there may be fewer migrations than --steps asks for.
	after, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(console.Stdout, "migrations reverted: %d; pending: %d\n", after-before, after)
	return err
}

// migrateStatus prints all migrations, the oldest first.
func migrateStatus(ctx context.Context, a *app.App) error {
	return withStore(ctx, a, true, func(s *persistence.Store) error {
		steps, err := s.Status(ctx)
		if err != nil {
			return err
		}
		tab := tabwriter.NewWriter(a.Console.Stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(tab, "MIGRATION\tNAME\tAPPLIED")
		for _, step := range steps {
			applied := "pending"
			if step.Applied {
				applied = step.AppliedAt.Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(tab, "%d\t%s\t%s\n", step.Number, step.Name, applied)
		}
		return tab.Flush()
	})
}

// withStore runs do on the store. With existing set, it rejects a SQLite file that does not exist instead of creating it.
func withStore(ctx context.Context, a *app.App, existing bool, do func(*persistence.Store) error) (err error) {
	cfg, err := a.Environ.LoadConfig(a.Console.Warn)
	if err != nil {
		return err
	}
	s, err := persistence.Open(ctx, cfg.DatabaseURL, persistence.Options{Logger: newLogger(a.Console.Stderr, "warn", "text"), Existing: existing})
	if err != nil {
		return err
	}
	defer func() {
		// An interrupted command closes the store, too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, s.Close(ctx))
	}()
	return do(s)
}
