package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
)

// Connection makes the commands that send requests to a running Weir, and holds their flags.
type Connection struct {
	Output
	Body           []byte // of the last successful response
	url, tokenFile string
	completed      string // the argument that names completes
	names          NameSource

	environ    Environ
	retryDelay time.Duration
	console    *Console
	watcher    *Watcher
}

// NewConnection returns a connection for a group of commands.
func (a *App) NewConnection() *Connection {
	return &Connection{Output: NewOutput(), environ: a.Environ, retryDelay: a.retryDelay, console: a.Console, watcher: a.Watcher}
}

// Completing makes the commands complete an argument with names from a running Weir.
func (r *Connection) Completing(argument string, names NameSource) *Connection {
	r.completed, r.names = argument, names
	return r
}

// AboutConnection is the help text about the connection to Weir.
const AboutConnection = `Address of Weir: --url or WEIR_URL (default http://127.0.0.1:8080). Token:
--token-file, WEIR_TOKEN or WEIR_TOKEN_FILE.`

// APIGroup makes a command that only has subcommands, which send requests to a running Weir.
func (r *Connection) APIGroup(use, short, long, example string, commands ...*cobra.Command) *cobra.Command {
	c := command.Group(use, short, long, commands...)
	c.Example = example
	r.AddConnectionFlags(c)
	return c
}

// AddConnectionFlags adds the flags for the address of Weir and the output format, and
// texts about the connection and the exit codes to the help.
func (r *Connection) AddConnectionFlags(c *cobra.Command) {
	c.Long += "\n\n" + AboutConnection + "\n\n" + AboutExitCodes
	f := c.PersistentFlags()
	f.StringVar(&r.url, "url", "", "address of Weir (default: WEIR_URL, or "+client.DefaultURL+")")
	f.StringVar(&r.tokenFile, "token-file", "", "file that contains the API token (default: WEIR_TOKEN, or the file in WEIR_TOKEN_FILE)")
	r.AddFlags(c)
}

// Connect returns a client as configured by options, flags and environment.
func (r *Connection) Connect(c *cobra.Command, o client.Options) (*client.Client, error) {
	var err error
	if o.Token, err = command.Token(c, r.environ, r.tokenFile); err != nil {
		return nil, err
	}
	o.URL, o.UserAgent, o.RetryDelay = cmp.Or(r.url, r.environ.Value("WEIR_URL")), "weir", r.retryDelay
	out, err := client.New(o)
	if err != nil {
		return nil, command.UsageError(c, err.Error())
	}
	return out, nil
}

// APICommand makes a command that takes the arguments named in use and gets a client.
func (r *Connection) APICommand(use, short, long, example string, do func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error) *cobra.Command {
	c := ClientCommand(use, short, cmp.Or(long, short+"."), example, func(c *cobra.Command) (*client.Client, error) { return r.Connect(c, client.Options{}) },
		func(c *cobra.Command, to *client.Client, args []string) error {
			return do(c.Context(), c, to.CaptureBody(&r.Body), args)
		})
	c.ValidArgsFunction = r.completeArgs()
	return c
}

// DeleteCommand returns a command that deletes what its argument names, after a question that
// says what is deleted; %s in it stands for the name. field is the name's in the JSON output.
func (r *Connection) DeleteCommand(use, short, long, example, question, field string, do func(to *client.Client, ctx context.Context, name string) error) *cobra.Command {
	return Confirmable(r.APICommand(use, short, long, example,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if err := r.console.Confirm(c, fmt.Sprintf(question, args[0])); err != nil {
				return err
			}
			if err := do(to, ctx, args[0]); err != nil {
				return err
			}
			return r.console.PrintValue(&r.Output, map[string]any{field: args[0], "deleted": true}, "%s: deleted", args[0])
		}))
}

// WatchCommand is [Connection.APICommand] for a command that shows something, with the flag --watch.
func (r *Connection) WatchCommand(use, short, long, example string, show func(ctx context.Context, to *client.Client, args []string, out io.Writer) error) *cobra.Command {
	var w WatchFlag
	c := r.APICommand(use, short, long, example, func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
		return r.watcher.Repeat(ctx, &r.Output, &w, func(out io.Writer) error { return show(ctx, to, args, out) })
	})
	w.AddTo(c)
	return c
}

// ClientCommand makes a command that takes the arguments named in use and gets a client
// from connect.
func ClientCommand[C interface{ Close() }](use, short, long, example string, connect func(*cobra.Command) (C, error), do func(c *cobra.Command, to C, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: NamedArgs(strings.Fields(use)[1:]), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := connect(c)
			if err != nil {
				return err
			}
			defer to.Close()
			if err = do(c, to, args); err != nil && c.Context().Err() != nil {
				return errors.New("interrupted")
			}
			return err
		},
	}
}

// NamedArgs checks that exactly the named arguments are present. One in brackets may be absent, and the last,
// if three dots follow it, be there more than once.
func NamedArgs(names []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		names := names
		if n := len(names); n > 0 && strings.HasSuffix(names[n-1], "...") {
			for names = slices.Clone(names); len(names) < len(args); {
				names = append(names, names[n-1])
			}
		}
		switch {
		case len(args) < len(names) && !strings.HasPrefix(names[len(args)], "["):
			return command.UsageError(c, names[len(args)]+" is missing")
		case len(args) > len(names):
			return command.UsageError(c, fmt.Sprintf("unexpected argument %q", args[len(names)]))
		}
		for i, arg := range args {
			if strings.TrimSpace(arg) == "" {
				return command.UsageError(c, names[i]+" is empty")
			}
		}
		return nil
	}
}

// PrintResult prints the result of the last request: a sentence, or the body of the
// response as received.
func (r *Connection) PrintResult(format string, args ...any) error {
	if r.JSON() {
		return WriteRaw(r.console.Stdout, r.Body)
	}
	return r.console.printSentence(format, args...)
}

// ShowCommand makes a command that shows one object, with the flag --watch: its only
// argument is passed to get; text formats the object for a terminal.
func ShowCommand[T any](clock *Clock, r *Connection, use, short, long, example string, get func(c *client.Client, ctx context.Context, id string) (*T, error), text func(clock *Clock, x *T, colors bool) string) *cobra.Command {
	return r.WatchCommand(use, short, long, example, func(ctx context.Context, to *client.Client, args []string, out io.Writer) error {
		x, err := get(to, ctx, args[0])
		if err != nil {
			return err
		}
		if r.JSON() {
			return WriteRaw(out, r.Body)
		}
		_, err = io.WriteString(out, text(clock, x, r.console.Display(&r.Output).Colors))
		return err
	})
}
