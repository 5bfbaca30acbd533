package cli

import (
	"os"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weirlab/bench"
	"weir/cmd/weirlab/bench/provider"
)

const aboutBench = `Puts one fixed workload through the broker and through a baseline that
keeps everything in memory (peer floor), and prints a line of JSON for each run and a table of
medians. A run that lost a contact, sent one twice, exceeded a capacity or left
the order fails.

Figures are to be read as ratios to the baseline of the same session.

Modes:
  live        contacts are queued while they are dispatched
  drain       contacts are queued in closed channels, which are then opened
  latency     --rate contacts a second, from the call to the provider
  loaded      the same at 0.7 of the rate of live, which is measured before
  standing    live, behind a queue: half of the contacts are queued in closed
              channels, which are then opened
  turnaround  one channel of capacity 1: from a freed slot to the next contact
  backlog     live, beside --queued contacts of a paused channel
  restart     the program is started with --queued contacts over all channels
  crash       live, with two kill -9 on the way
  survey      a survey from its launch until it is done; each message fails at the
              provider, which ends its respondent
  matching    the router's engine finds workers for jobs: --workers with 3 of 10
              skills, beside --blocked jobs that no worker can take
  router      jobs are created through the router's API, one after the other
  idle        channels without contacts
  bulk        --queued contacts are queued, in batches of a thousand

With --url a running Weir is measured, in channels of its own that are removed
at the end: for sizing an installation. It has to reach this program's provider
(--provider). What needs a look at its process or store is 0 then.
With several addresses, of processes on one database, requests and the provider's
reports go to each in turn, whatever PUBLIC_URL is, and the CPU time of the owner
of the database and the statements of all come from their metrics, if the token
may read those; idle can be measured then, too.

--set processes starts three processes on a private MariaDB or MySQL server, and
compares them in turn with one.`

func (a *app) bench() *cobra.Command {
	o, tokenFile, weir := bench.Defaults(), "", ""
	c := &cobra.Command{
		Use: "bench", Short: "Measure the broker against a baseline without a store", Args: command.NoArgs, Long: aboutBench,
		Example: `  weirlab bench
  weirlab bench --mode live,drain --peer floor,inside,http,http-batch --database sqlite,mysql
  weirlab bench --mode live,latency --url https://weir.example --token-file token --provider 10.0.0.7:9000
  weirlab bench --contact-events off,auto,on --peer inside --database sqlite,mysql
  weirlab bench --mode live,idle --url http://10.0.0.1:8080,http://10.0.0.2:8080 --token-file token
  weirlab bench --set short
  weirlab bench --set processes`,
		RunE: func(c *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			o.Program, o.Out, o.Err = program, a.Stdout, a.Stderr
			if o.URL == "" {
				if o.Weir, err = weirProgram(weir); err != nil {
					return err
				}
			}
			if o.URL != "" && o.Token == "" {
				if o.Token, err = command.Token(c, a.Environ, tokenFile); err != nil {
					return err
				}
			}
			return bench.Run(c.Context(), o)
		},
	}
	benchFlags(c, &o)
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with that token (default WEIR_TOKEN_FILE, or WEIR_TOKEN itself)")
	c.Flags().StringVar(&weir, "weir", "", "`file` of the program weir (default: the one beside weirlab, or in PATH)")
	c.AddCommand(a.benchChild(), a.benchProvider(), a.benchPeers())
	return c
}

func benchFlags(c *cobra.Command, o *bench.Options) {
	f := c.Flags()
	f.StringSliceVar(&o.Modes, "mode", o.Modes, "what is measured: live, standing, drain, latency, loaded, turnaround, backlog, restart, crash, survey, matching, router, idle, bulk")
	f.StringSliceVar(&o.Peers, "peer", o.Peers, "floor, inside, inside-batch, http, http-batch, http-1000")
	f.BoolVar(&o.Baseline, "floor", false, "the baseline is among the peers, too")
	f.StringVar(&o.Set, "set", "", "short (some minutes) or full: every run that the tables of targets need, on SQLite and a private MariaDB; processes: those of one and of three processes only")
	f.IntVar(&o.N, "n", o.N, "contacts of a run")
	f.IntVar(&o.Channels, "channels", o.Channels, "channels")
	f.IntVar(&o.Capacity, "capacity", o.Capacity, "capacity of each channel (default: 50, or as many as --delay and --answer need)")
	f.DurationVar(&o.Delay, "delay", o.Delay, "from the provider's answer to its report of the end, such as 2s or 30s")
	f.DurationVar(&o.Answer, "answer", o.Answer, "how long the provider takes to answer a request")
	f.IntSliceVar(&o.Workers, "workers", o.Workers, "workers of matching")
	f.IntSliceVar(&o.Blocked, "blocked", o.Blocked, "waiting jobs of matching that no worker can take")
	f.IntVar(&o.Streams, "streams", 0, "clients that read the stream of events during a run")
	f.BoolVar(&o.Rules, "rules", false, "a rule of each kind holds for the people who are contacted, and a limit for all channels; nothing is against any contact")
	f.StringSliceVar(&o.ContactEvents, "contact-events", nil, "measured alternately: off, auto, on (values of WEIR_CONTACT_EVENTS), webhook (auto with a webhook for the end of each contact). With --against, each is compared with the same of the earlier version. Otherwise, with off and another, the run fails if the median of live with auto is below 0.99, or with on below 0.90, of live with off in the same turn; six turns tell whether that may be chance")
	f.BoolVar(&o.Calls, "calls", false, "phone calls through Verboice instead of messages through Nuntium (not with the baseline)")
	f.IntVar(&o.Repeat, "repeat", o.Repeat, "repetitions of every run")
	f.IntVar(&o.Queued, "queued", o.Queued, "contacts that are queued in backlog, restart and bulk")
	f.IntVar(&o.Rate, "rate", o.Rate, "contacts a second of latency")
	f.DurationVar(&o.Latency, "latency", o.Latency, "how long latency takes")
	f.DurationVar(&o.Idle, "idle", o.Idle, "how long idle observes")
	f.StringSliceVar(&o.Databases, "database", o.Databases, "stores: sqlite, mysql (a private server is started), sqlite://FILE (a new folder beside it), mysql://USER:PASSWORD@HOST:PORT; each run has a new database")
	f.StringVar(&o.URL, "url", "", "a running Weir that is measured instead; several processes on one database: their addresses, with commas")
	f.StringVar(&o.Token, "token", "", "a token of it that may manage channels and contacts; others on this machine can read it, --token-file is better")
	f.StringVar(&o.Provider, "provider", "", "where the provider listens (default: somewhere on loopback)")
	f.StringVar(&o.Against, "against", "", "an earlier version of weir: fail if this one is slower")
	f.BoolVar(&o.JSON, "json", false, "lines of JSON only")
	f.StringVar(&o.Profile, "profile", "", "file for a CPU profile of the latest run with the load in the broker's process")
}

func (a *app) benchChild() *cobra.Command {
	return &cobra.Command{
		Use: "child", Short: "One run, with the load in the broker's process", Args: command.NoArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error { return bench.Child(c.Context(), a.Stdin, a.Stdout) },
	}
}

func (a *app) benchPeers() *cobra.Command {
	return &cobra.Command{
		Use: "peers", Short: "Compare Weir with other programs, from lines of JSON", Args: command.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error { return bench.ComparePeers(a.Stdin, a.Stdout) },
	}
}

func (a *app) benchProvider() *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use: "provider", Short: "The provider that the runs use", Args: command.NoArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error { return provider.Serve(c.Context(), listen, a.Stdout) },
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	return c
}
