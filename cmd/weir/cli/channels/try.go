package channels

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/channels/httpgateway"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/internal/plainjson"
)

const aboutTry = `Send one message on a text channel to an address of yours, and show what becomes of it
until it is done.

With --render nothing is sent, and no Weir is needed: the command prints the requests that
a channel of type http would make. --file is the JSON file with the channel, as for "weir
channel put"; secrets are replaced by their names, so any text will do for them. Mistakes
in the template are listed with their places.`

// tryFlags are the flags of "weir channel try".
type tryFlags struct {
	to, file string
	messages []string
	render   bool
	limit    time.Duration
}

// tryCommand makes "weir channel try".
func tryCommand(a *app.App, r *app.Connection) *cobra.Command {
	f := tryFlags{limit: 5 * time.Minute}
	c := r.APICommand("try NAME", "Send one message, or show its request", aboutTry,
		"  weir channel try sms --to +15550001 --message \"It works.\"\n  weir channel try --render --file channel.json --to +15550001 --message \"It works.\"",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if f.file != "" {
				return command.UsageError(c, "--file goes with --render")
			}
			return tryContact(ctx, a, to, args[0], &f)
		})
	c.Args = func(c *cobra.Command, args []string) error {
		if f.render {
			return cobra.NoArgs(c, args)
		}
		return app.NamedArgs([]string{"NAME"})(c, args)
	}
	send := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case f.to == "" || len(f.messages) == 0:
			return command.UsageError(c, "give --to and --message")
		case f.render:
			return render(a.Console, c, &f)
		}
		return send(c, args)
	}
	g := c.Flags()
	g.StringVar(&f.to, "to", "", "address")
	g.StringArrayVarP(&f.messages, "message", "m", nil, "text of a message; repeatable")
	g.BoolVar(&f.render, "render", false, "print the requests of a channel of type http, and send nothing")
	g.StringVarP(&f.file, "file", "f", "", `with --render: JSON file with the channel, "-" for standard input`)
	g.DurationVar(&f.limit, "timeout", f.limit, "how long to wait for the end")
	return c
}

// render prints the requests for a message.
func render(console *app.Console, c *cobra.Command, f *tryFlags) error {
	if f.file == "" {
		return command.UsageError(c, "--render needs --file")
	}
	text, err := console.ReadJSON(c, f.file)
	if err != nil {
		return err
	}
	var ch struct {
		Type     string
		Settings weir.Settings
	}
	if err := plainjson.Unmarshal(text, &ch); err != nil || ch.Settings == nil {
		return fmt.Errorf("%s: must be an object such as {\"type\": \"http\", \"settings\": {…}}", f.file)
	}
	if ch.Type != "http" {
		return fmt.Errorf("%s: the requests of channels of type http can be shown, not of %q", f.file, ch.Type)
	}
	list, wrong, err := httpgateway.Render(ch.Settings, f.to, f.messages, "https://weir.example/callbacks/NAME/SECRET")
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		lines := []string{fmt.Sprintf("%s: the settings are wrong", f.file)}
		for _, e := range wrong {
			lines = append(lines, "  /settings"+e.Pointer+": "+e.Detail)
		}
		return errors.New(strings.Join(lines, "\n"))
	}
	for i := range list {
		if _, err := fmt.Fprintln(console.Stdout, requestText(&list[i])); err != nil {
			return err
		}
	}
	return nil
}

// requestText formats a request as HTTP/1.1 does.
func requestText(r *httpgateway.Rendered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, terminal.Visible(r.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, v := range r.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, terminal.Visible(v))
		}
	}
	if len(r.Body) > 0 {
		b.WriteString("\n" + terminal.VisibleLines(string(r.Body)) + "\n")
	}
	return b.String()
}

// tryContact sends a contact and prints its states until it is done.
func tryContact(ctx context.Context, a *app.App, to *client.Client, channel string, f *tryFlags) error {
	// A new key, so that the same text can be tried again; priority high, so that it does not
	// wait behind a backlog.
	sent, err := to.PostContacts(ctx, channel, client.ContactsBody{Contacts: []client.ContactBody{{Key: "try-" + rand.Text(), To: f.to, Messages: f.messages, Priority: "high"}}})
	if err != nil {
		return err
	}
	id, last := sent.Contacts[0].ID, ""
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	err = a.Watcher.Poll(ctx, 500*time.Millisecond, func() (done bool, err error) {
		v, err := to.GetContact(ctx, id)
		if err != nil {
			return false, err
		}
		state := cmp.Or(v.Outcome, v.State)
		if reason := v.Reason + a.Clock.FormatWhy(v.Why); reason != "" {
			state += ": " + reason
		}
		if state != last {
			_, _ = fmt.Fprintf(a.Console.Stdout, "%s  %s  %s\n", a.Clock.FormatSecond(a.Clock.Now()), id, terminal.Visible(state))
			last = state
		}
		switch v.Outcome {
		case "":
			return false, nil
		case "completed":
			return true, nil
		default:
			return false, command.Exit(app.Failure, "the message was not delivered")
		}
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return command.Exit(app.Failure, fmt.Sprintf("it is not done after %s; \"weir contact show %s\" shows it", terminal.Duration(f.limit), url.PathEscape(id)))
	}
	return err
}
