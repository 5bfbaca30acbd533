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

func MigrateCommand(a *app.App) *cobra.Command {
	return command.Group("migrate", "Change or show the schema of the database",
		"Changes or shows the schema of the database that DATABASE_URL names.",
		a.PlainCommand("up", "Bring the schema up to date", "Takes every step that the schema lacks. Several at the same time do no harm.", migrateUp),
		migrateDownCommand(a),
		a.PlainCommand("status", "Show the steps of the schema", "", migrateStatus))
}

func migrateUp(ctx context.Context, a *app.App) error {
	return withStore(ctx, a, false, func(s *persistence.Store) error {
		pending, err := s.Pending(ctx)
		if err != nil {
			return err
		}
		if err := s.MigrateUp(ctx); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "the schema is up to date; steps taken: %d\n", pending)
		return err
	})
}

func migrateDownCommand(a *app.App) *cobra.Command {
	var steps int
	c := &cobra.Command{
		Use: "down", Short: "Take back steps of the schema", Args: command.NoArgs,
		Long: "Takes back the newest steps of the schema. What they hold is lost: contacts too,\nonce the step that made their table is taken back. Stop every Weir on this\ndatabase first: while one runs nothing is taken back.",
		RunE: func(c *cobra.Command, _ []string) error {
			if steps < 1 {
				return command.UsageError(c, "--steps must be 1 or more")
			}
			if err := a.Confirm(c, fmt.Sprintf("this takes back the newest %s of the schema and deletes what it holds", terminal.Plural(steps, "step", "steps"))); err != nil {
				return err
			}
			return withStore(c.Context(), a, true, func(s *persistence.Store) error { return revert(c.Context(), a, s, steps) })
		},
	}
	c.Flags().IntVar(&steps, "steps", 1, "how many steps to take back")
	return app.Confirmable(c)
}

// revert reverts up to the given number of steps, and prints how many it reverted.
func revert(ctx context.Context, a *app.App, s *persistence.Store, steps int) error {
	before, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	if err := s.MigrateDown(ctx, steps); err != nil {
		return err
	}
	after, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "steps taken back: %d; the schema lacks %d now\n", after-before, after)
	return err
}

func migrateStatus(ctx context.Context, a *app.App) error {
	return withStore(ctx, a, true, func(s *persistence.Store) error {
		steps, err := s.Status(ctx)
		if err != nil {
			return err
		}
		tab := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(tab, "STEP\tNAME\tTAKEN")
		for _, step := range steps {
			taken := "not yet"
			if step.Applied {
				taken = step.AppliedAt.Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(tab, "%d\t%s\t%s\n", step.Number, step.Name, taken)
		}
		return tab.Flush()
	})
}

// withStore runs do on the store. With existing set, it rejects a SQLite file that does not exist instead of creating it.
func withStore(ctx context.Context, a *app.App, existing bool, do func(*persistence.Store) error) (err error) {
	cfg, err := a.LoadConfig(a.Warn)
	if err != nil {
		return err
	}
	s, err := persistence.Open(ctx, cfg.DatabaseURL, persistence.Options{Logger: newLogger(a.Stderr, "warn", "text"), Existing: existing})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, s.Close(ctx))
	}()
	return do(s)
}
