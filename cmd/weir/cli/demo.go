package cli

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weir/cmd/weir/demo"
)

func (a *app) demo() *cobra.Command {
	o := demo.Defaults()
	c := &cobra.Command{
		Use: "demo", Short: "Watch the broker lose nothing although it is killed", Args: nothing,
		Long: `Shows the main job, with nothing to set up and no traffic but on this machine:
starts simulated Verboice and Nuntium servers and a broker with a new SQLite
file, feeds it contacts from a CSV file, kills it with kill -9 on the way and
starts it again. At the end stands what the simulated providers have recorded.

Exit code 0 only if nothing was lost, nothing was sent twice and no capacity was
exceeded.

The file has these columns: channel (calls or sms), key, to, priority (normal,
high or reply), survey, text, text2, text3. An SMS with several texts goes out
as several messages.`,
		Example: `  weir demo
  weir demo --kills 5 --capacity 20
  weir demo --contacts 200 --speed 4
  weir demo --csv my-contacts.csv`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return misuse(c, err.Error())
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			o.Program, o.Out = program, a.Stdout
			o.Terminal = Terminal(a.Stdout) && a.environment("TERM") != "dumb"
			o.Color = o.Terminal && a.environment("NO_COLOR") == ""
			o.Width = a.width
			return demo.Run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.File, "csv", "", "file of contacts (default: the 2,000 that come with the program)")
	f.IntVar(&o.Contacts, "contacts", o.Contacts, "only so many, from the beginning of the file (default all)")
	f.IntVar(&o.Capacity, "capacity", o.Capacity, "most slots in flight on each channel (default 50 calls, 40 messages)")
	f.IntVar(&o.Kills, "kills", o.Kills, "how often the broker is killed, evenly spread")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of what happens by chance at the providers")
	f.Float64Var(&o.Speed, "speed", o.Speed, "how many times faster than usual the providers are")
	return c
}

// width is the number of columns of the terminal; 0 when that is not known.
func (a *app) width() int {
	f, ok := a.Stdout.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
