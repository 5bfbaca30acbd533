package contacts

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

// sendFlags holds the flags of contact send.
type sendFlags struct {
	defaults            client.ContactBody
	call                client.CallBody
	notBefore, notAfter string
	labels              []string
	twiml               string
	file                string
	format, encoding    command.Choice
	sheet               string
	columns             string
	run, errors         string
	show, from          int
	tries               int
	dryRun              bool
}

// contactFlags adds the flags for the fields of a contact.
func (s *sendFlags) contactFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&s.defaults.Messages, "message", "m", nil, "text of a message, on a text channel; repeatable")
	f.StringVar(&s.twiml, "twiml", "", "on a voice channel: file with the TwiML document")
	f.Int64Var(&s.call.CallFlowID, "call-flow", 0, "on a voice channel: id of a call flow of the provider")
	app.AddFields(c, &s.defaults)
	app.AddFields(c, &s.call)
	f.StringVar(&s.notBefore, "not-before", "", "delay until: an instant, or a duration from now such as 2h")
	f.StringVar(&s.notAfter, "not-after", "", "expire if not sent before: an instant, or a duration from now such as 2h")
	f.StringArrayVar(&s.labels, "label", nil, "label as NAME=VALUE; repeatable")
	_ = c.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions([]string{"normal", "high", "reply"}, cobra.ShellCompDirectiveNoFileComp))
}

// readContactFlags reads the flags whose values are not fields as they stand.
func readContactFlags(clock *app.Clock, c *cobra.Command, s *sendFlags) error {
	for _, text := range s.labels {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return command.UsageError(c, "--label must be NAME=VALUE")
		}
		setLabel(&s.defaults, name, value)
	}
	for flag, x := range map[string]struct {
		text string
		into *time.Time
	}{"not-before": {s.notBefore, &s.defaults.NotBefore}, "not-after": {s.notAfter, &s.defaults.NotAfter}} {
		var err error
		if *x.into, err = parseFuture(clock, x.text); err != nil {
			return command.UsageError(c, "--"+flag+" must be an instant such as 2026-05-04T09:00:00Z, or a duration from now such as 2h")
		}
	}
	if s.twiml != "" {
		text, err := os.ReadFile(s.twiml)
		if err != nil {
			return err
		}
		s.call.TwiML = string(text)
	}
	if s.call != (client.CallBody{}) {
		s.defaults.Call = &s.call
	}
	return nil
}

// parseFuture parses an instant, or a duration from now on.
func parseFuture(clock *app.Clock, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return clock.Now().Add(d).UTC(), nil
	}
	at, _, wrong := weir.ParseInstant(text)
	if wrong != "" {
		return time.Time{}, errors.New(wrong)
	}
	return at, nil
}

func setLabel(c *client.ContactBody, name, value string) {
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[name] = value
}
