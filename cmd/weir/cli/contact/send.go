package contact

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const (
	maxBatch     = 1000
	defaultTries = 8 // of a batch; together half a minute
)

const sendAbout = `Queues contacts on a channel: one that the flags describe, or as many as a file
has ("-" for the standard input). What the flags say holds for each contact of a
file that does not say otherwise.

CSV: the first line names the columns, one of them to (or phone). The others are
key, priority, not_before, not_after, survey, message (several times for several
texts), callback_url, call_flow_id, twiml, and label.NAME. NDJSON: one contact a
line, as the API takes it.

It can be repeated. A contact without a key gets one that is made from what it
says and to whom, so that the same row sent again is known to Weir and nobody is
contacted twice: neither when the connection broke, nor when the same file is sent
again after some of its rows were mended. To send the same on purpose another
time, give that time a name with --run.

A row that cannot be sent is named with its line; the others are sent, and the
exit code is 4.`

const sendExample = `  weir contact send sms --to +15550001 --message "Please call us." --key reminder-17
  weir contact send sms --file people.csv --message "The clinic is open." --run may --errors refused.csv
  weir contact send calls --to +15550001 --callback-url https://app.example/ivr
  zcat people.ndjson.gz | weir contact send sms --file - --format ndjson`

// sendFlags holds the flags of contact send.
type sendFlags struct {
	usual               client.ContactBody
	notBefore, notAfter string
	labels              []string
	twiml               string
	file                string
	format              command.Choice
	run, errors         string
	batch, show, from   int
	tries               int
}

func sendCommand(a *app.App, r *app.Connection) *cobra.Command {
	s := &sendFlags{format: command.NewChoice("", "csv", "ndjson")}
	c := a.APICommand(r, "send CHANNEL", "Queue one contact, or those of a file", sendAbout, sendExample,
		func(ctx context.Context, c *cobra.Command, _ *client.Client, args []string) error {
			if err := checkFlags(a, c, s); err != nil {
				return err
			}
			to, err := a.ConnectWith(c, r, client.Options{MaxTries: s.tries})
			if err != nil {
				return err
			}
			defer to.Close()
			if s.file == "" {
				return sendOne(ctx, a, r, to, s, args[0])
			}
			return sendFile(ctx, a, c, r, to, s, args[0])
		})
	s.flags(c)
	c.ValidArgsFunction = a.CompleteArgs(r, app.ChannelNames)
	a.CompleteFlag(c, r, "survey", app.SurveyNames)
	return c
}

func (s *sendFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.usual.To, "to", "", "number of one contact")
	f.StringVar(&s.usual.Key, "key", "", "your own name for it, with which the same contact is not queued twice")
	f.StringArrayVarP(&s.usual.Messages, "message", "m", nil, "text, on a text channel; may be given several times")
	f.StringVar(&s.usual.Call.CallbackURL, "callback-url", "", "on a voice channel: where the provider fetches what to say")
	f.IntVar(&s.usual.Call.CallFlowID, "call-flow", 0, "on a voice channel: id of a call flow at the provider")
	f.StringVar(&s.twiml, "twiml", "", "on a voice channel: file with the document of the call")
	f.StringVar(&s.usual.Priority, "priority", "", "normal, high or reply")
	f.StringVar(&s.notBefore, "not-before", "", "it waits until then: an instant, or a time from now on such as 2h")
	f.StringVar(&s.notAfter, "not-after", "", "it ends as expired if it has not gone out by then: an instant, or a time from now on")
	f.StringVar(&s.usual.Survey, "survey", "", "name under which contacts of one channel take turns")
	f.StringArrayVar(&s.labels, "label", nil, "NAME=VALUE; may be given several times")
	f.StringVarP(&s.file, "file", "f", "", `file of contacts; "-" for the standard input`)
	f.Var(&s.format, "format", "form of the file (default: as its name ends)")
	f.StringVar(&s.run, "run", "", "name of this sending: under another one the same contacts are new")
	f.IntVar(&s.batch, "batch", maxBatch, "contacts in one request")
	f.IntVar(&s.from, "from-line", 0, "leave out the lines of the file before this one")
	f.IntVar(&s.tries, "tries", defaultTries, "how often a request is tried while Weir does not answer")
	f.StringVar(&s.errors, "errors", "", "file that is to get every refused row, as CSV: line, column, reason")
	f.IntVar(&s.show, "show", 10, "how many refused rows are shown")
	_ = c.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"normal", "high", "reply"}, cobra.ShellCompDirectiveNoFileComp))
}

// checkFlags checks the flags and reads the files that they name.
func checkFlags(a *app.App, c *cobra.Command, s *sendFlags) error {
	switch {
	case s.file == "" && s.usual.To == "":
		return command.UsageError(c, "whom? --to names one, --file has many")
	case s.file != "" && s.usual.To != "":
		return command.UsageError(c, "--to and --file do not go together")
	case s.file != "" && s.usual.Key != "":
		return command.UsageError(c, "--key is of one contact; a file may have a column key")
	case s.batch < 1 || s.batch > maxBatch:
		return command.UsageError(c, fmt.Sprintf("--batch must be 1 to %d", maxBatch))
	case s.show < 0 || s.from < 0 || s.tries < 1:
		return command.UsageError(c, "--show and --from-line must be 0 or more, --tries 1 or more")
	}
	for _, text := range s.labels {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return command.UsageError(c, "--label takes NAME=VALUE")
		}
		if s.usual.Labels == nil {
			s.usual.Labels = map[string]string{}
		}
		s.usual.Labels[name] = value
	}
	for flag, x := range map[string]struct {
		text string
		into *time.Time
	}{"not-before": {s.notBefore, &s.usual.NotBefore}, "not-after": {s.notAfter, &s.usual.NotAfter}} {
		var err error
		if *x.into, err = parseFuture(a, x.text); err != nil {
			return command.UsageError(c, "--"+flag+" must be an instant such as 2026-05-04T09:00:00Z, or a time from now on such as 2h")
		}
	}
	if s.twiml != "" {
		text, err := os.ReadFile(s.twiml)
		if err != nil {
			return err
		}
		s.usual.Call.TwiML = string(text)
	}
	return nil
}

// parseFuture parses an instant, or a duration from now on.
func parseFuture(a *app.App, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return a.Now().Add(d).UTC(), nil
	}
	at, _, wrong := weir.ParseInstant(text)
	if wrong != "" {
		return time.Time{}, errors.New(wrong)
	}
	return at, nil
}

// sendOne queues the contact that the flags describe. Without a key it gets a
// generated one, so that a request whose response was lost is safe to retry.
func sendOne(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, s *sendFlags, channel string) error {
	one := s.usual
	if one.Key == "" {
		one.Key = "cli-" + strings.ToLower(rand.Text())
	}
	list, err := to.PostContacts(ctx, channel, client.ContactsBody{Contacts: []client.ContactBody{one}})
	if err != nil {
		return err
	}
	if len(list.Contacts) != 1 {
		return errors.New("the answer is not understood: it has not exactly one contact")
	}
	x := list.Contacts[0]
	raw, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if x.Duplicate {
		return a.PrintResult(r, raw, "%s: the key was known; it is %s", x.ID, x.State)
	}
	return a.PrintResult(r, raw, "%s: %s", x.ID, x.State)
}

// sendFile queues the contacts of a file.
func sendFile(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, s *sendFlags, channel string) error {
	kind, err := app.ContentType(s.file, s.format.Value)
	if err != nil {
		return command.UsageError(c, err.Error())
	}
	from, bytes, done, err := a.OpenInput(c, s.file)
	if err != nil {
		return err
	}
	defer done()
	refused, err := app.NewRejectedRows(s.errors, s.show)
	if err != nil {
		return err
	}
	p := a.NewProgress(filepath.Base(s.file), "rows", bytes, kind == "text/csv")
	f := &feed{to: to, channel: channel, s: s, refused: refused, keys: map[string]bool{}}
	err = f.run(ctx, kind, io.TeeReader(from, p))
	p.Clear()
	if err = errors.Join(err, refused.Close()); err != nil {
		return f.failed(err)
	}
	return printSent(a, r, f)
}

// printSent prints the result of sending a file.
func printSent(a *app.App, r *app.Connection, f *feed) error {
	if r.JSON() {
		raw, err := json.Marshal(map[string]any{
			"channel": f.channel, "queued": f.queued, "duplicates": f.known, "rejected": f.refused.Count, "last_line": f.last, "errors": f.refused.First,
		})
		if err != nil {
			return err
		}
		if err := a.PrintRaw(raw); err != nil {
			return err
		}
	} else {
		text := fmt.Sprintf("%s: %s, %s, %s\n", f.channel, terminal.Plural(f.queued, "contact queued", "contacts queued"),
			terminal.Plural(f.known, "known already", "known already"), terminal.Plural(f.refused.Count, "row refused", "rows refused"))
		if err := a.PrintRejected(text, f.s.errors, f.refused); err != nil {
			return err
		}
	}
	if f.refused.Count > 0 {
		return command.Exit(app.Rejected, terminal.Plural(f.refused.Count, "row was refused", "rows were refused"))
	}
	return nil
}
