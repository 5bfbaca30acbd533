package cli

import (
	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weirlab/demo"
)

func (a *app) demo() *cobra.Command {
	o, program := demo.Defaults(), ""
	c := &cobra.Command{
		Use: "demo", Short: "Watch two surveys run to their end although the broker is killed", Args: command.NoArgs,
		Long: `Shows the main job, with nothing to set up and no traffic but on this machine:
starts simulated Verboice and Nuntium servers, an application that holds the
conversations, and a broker with a new SQLite file. Two surveys are imported from
CSV files and launched; they share both channels, call people and then write to
anyone who does not pick up. Some people answer, some late, some say STOP. The broker
is killed with kill -9 half-way and started again. Then interviewers, who get their
work from Weir's router, hold a third survey. The last tables show the records of
the simulated providers, and the final status of every respondent.

With --processes 3 a private MariaDB or MySQL server, three processes of Weir on it and a
load balancer are started instead, and each survey has two channels of its own. One after the
other the owner of the database is killed, the next one is stopped with SIGTERM, a standby
is killed, a process is added, and the owner stands still for 10 s. A list of who owned
the database when follows the tables.

With --serve live traffic goes on until Ctrl-C: surveys, one round after the other, and
direct contacts. The address of the dashboard with the token for it is printed, and that of
a panel on which you break things: a provider is down or slow, reports are lost, Weir is
killed, 2,000 contacts arrive at once, a person writes STOP. Beside it is the record of
proof. Everything is on loopback, and nothing is left behind.

Exit code 0 only if every respondent of the files is accounted for, no respondent
was contacted twice for one attempt or more often than allowed or after STOP, and no
capacity was exceeded.`,
		Example: `  weirlab demo
  weirlab demo --kills 5 --capacity 20
  weirlab demo --respondents 200 --speed 2
  weirlab demo --processes 3
  weirlab demo --serve`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return command.UsageError(c, err.Error())
			}
			weir, err := weirProgram(program)
			if err != nil {
				return err
			}
			o.Program, o.Out = weir, a.Stdout
			o.Terminal = command.IsTerminal(a.Stdout) && command.Environment(a.Environ, "TERM") != "dumb"
			o.Color = o.Terminal && command.Environment(a.Environ, "NO_COLOR") == ""
			o.Width = a.width
			if o.Serve {
				return demo.Serve(c.Context(), o)
			}
			return demo.Run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Respondents, "respondents", o.Respondents, "of all surveys together")
	f.IntVar(&o.Capacity, "capacity", o.Capacity, "most slots in flight on each channel (default 80 calls, with --serve 20; 40 messages)")
	f.IntVar(&o.Kills, "kills", o.Kills, "how often the broker is killed, evenly spread, with one process")
	f.IntVar(&o.Processes, "processes", o.Processes, "processes of Weir; more than one: on a private MariaDB or MySQL server, which apt installs where it is missing and this is root")
	f.BoolVar(&o.Serve, "serve", false, "live traffic until Ctrl-C, with the dashboard and a panel to break things")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of what happens by chance")
	f.Float64Var(&o.Speed, "speed", o.Speed, "how many times faster than usual people and providers are")
	f.StringVar(&program, "weir", "", "`file` of the program weir (default: the one beside weirlab, or in PATH)")
	return c
}
