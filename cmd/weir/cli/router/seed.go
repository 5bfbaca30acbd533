package router

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"weir/client/routerclient"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/router/acd"
)

// seedCommand makes "weir route seed".
func seedCommand(a *app.App, d *connection) *cobra.Command {
	var agents int
	var seed uint64
	c := newCommand(a, d, "seed", "Create example data in the router", `Create example data in the router: the queues "agents" (a job is assigned at once or
canceled) and "callers" (jobs wait), their policies, a pool for each of three languages
and two genders, and available agents with one to three of the languages. Existing
objects with the same ids are overwritten; nothing is deleted.`, `  weir route seed --agents 5
  weir route seed --agents 200 --seed 7`, func(c *cobra.Command, to *routerclient.Client, _ []string) error {
		if agents < 0 {
			return command.UsageError(c, "--agents must be 0 or more")
		}
		x := acd.Seed(agents, seed)
		if err := put(c.Context(), to, x); err != nil {
			return err
		}
		if d.JSON() {
			return printSeededJSON(a.Console, x)
		}
		return printSeeded(a.Console, x)
	})
	c.Flags().IntVar(&agents, "agents", 5, "number of agents")
	c.Flags().Uint64Var(&seed, "seed", 0, "seed of the random agents")
	return c
}

// put sends an example: referenced objects first.
// It stops at the first error and takes nothing back. Since every request overwrites by id, the
// command can be repeated after a failure.
func put(ctx context.Context, to *routerclient.Client, x acd.Example) error {
	if err := putAll(ctx, to, "distributionPolicies", x.Distribution); err != nil {
		return err
	}
	if err := putAll(ctx, to, "exceptionPolicies", x.Exception); err != nil {
		return err
	}
	if err := putAll(ctx, to, "queues", x.Queues); err != nil {
		return err
	}
	for _, p := range x.Pools {
		if err := to.Patch(ctx, "pools", p.ID, p.Spec); err != nil {
			return fmt.Errorf("pools %s: %w", p.ID, err)
		}
	}
	for _, w := range x.Agents {
		if err := to.Patch(ctx, "workers", w.ID, w.Spec); err != nil {
			return fmt.Errorf("workers %s: %w", w.ID, err)
		}
	}
	return nil
}

// putAll puts objects of one kind, in the order of their ids.
// The order makes the output and the log of two runs comparable; objects of one kind do not refer
// to each other.
func putAll[T any](ctx context.Context, to *routerclient.Client, kind string, specs map[string]T) error {
	for _, id := range slices.Sorted(maps.Keys(specs)) {
		if err := to.Patch(ctx, kind, id, specs[id]); err != nil {
			return fmt.Errorf("%s %s: %w", kind, id, err)
		}
	}
	return nil
}

// printSeeded prints the workers and a summary.
func printSeeded(console *app.Console, x acd.Example) error {
	for _, w := range x.Agents {
		name, _ := w.Spec.Tags["name"].Text()
		if _, err := fmt.Fprintf(console.Stdout, "%-22s %-8s %s\n", w.ID, name, labelsText(w.Spec.Labels)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(console.Stdout, "%s, %s, queues %s\n", terminal.Plural(len(x.Agents), "agent", "agents"), terminal.Plural(len(x.Pools), "pool", "pools"), acd.Agents+" and "+acd.Callers)
	return err
}

func printSeededJSON(console *app.Console, x acd.Example) error {
	out := struct {
		Queues []string `json:"queues"`
		Pools  []string `json:"pools"`
		Agents []string `json:"agents"`
	}{slices.Sorted(maps.Keys(x.Queues)), []string{}, []string{}}
	for _, p := range x.Pools {
		out.Pools = append(out.Pools, p.ID)
	}
	for _, w := range x.Agents {
		out.Agents = append(out.Agents, w.ID)
	}
	return console.PrintJSON(out)
}
