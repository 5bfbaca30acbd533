package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weirlab/callcenter"
)

func (a *app) simulateACD() *cobra.Command {
	var o callcenter.Simulation
	output := command.NewChoice("text", "text", "json")
	c := &cobra.Command{
		Use: "acd", Short: "Play a small contact centre through on the router's engine", Args: command.NoArgs,
		Long: `Plays a contact centre through, in this process and on simulated time: agents
with one language and one expertise each, and contacts that come at even
intervals, need one of both and stay for a while. A contact abandons if it
has no agent by its end. The same seed gives the same sums.`,
		Example: `  weirlab simulate acd --agents 40 --contacts 100 --seed 0
  weirlab simulate acd --agents 4        # too few: some abandon`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Agents < 1 || o.Contacts < 1 || o.Every <= 0 || o.Shortest <= 0 || o.Longest < o.Shortest {
				return command.UsageError(c, "--agents and --contacts must be 1 or more, and the durations positive and in order")
			}
			sums, err := o.Run()
			if err != nil {
				return err
			}
			if output.Value == "json" {
				return json.NewEncoder(a.Stdout).Encode(sums)
			}
			_, err = fmt.Fprintf(a.Stdout, `contacts   %6d   agents    %6d
assigned   %6d   available %6d   at the end
abandoned  %6d   queued    %6d   at the end
longest wait of an assigned contact %s; %s simulated, %d events
`, sums.Contacts, sums.Agents, sums.Assigned, sums.Available, sums.Abandoned, sums.Queued,
				sums.LongestWait.Round(time.Millisecond), sums.Lasted.Round(time.Millisecond), sums.Events)
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.Agents, "agents", 40, "agents")
	f.IntVar(&o.Contacts, "contacts", 100, "contacts")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what happens by chance")
	f.DurationVar(&o.Every, "every", time.Second/2, "between contacts")
	f.DurationVar(&o.Shortest, "shortest", time.Second, "shortest stay of a contact")
	f.DurationVar(&o.Longest, "longest", 3*time.Second, "longest stay of a contact")
	f.VarP(&output, "output", "o", "form of the output")
	return c
}
