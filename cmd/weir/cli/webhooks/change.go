package webhooks

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// fields are the flags for the fields of a webhook.
type fields struct {
	url, channel, survey, description string
	types                             []string
	pii, paused                       bool
}

func (f *fields) add(c *cobra.Command, r *app.Connection) {
	g := c.Flags()
	g.StringVar(&f.url, "url", "", "where events are sent: https at a public address; the server's WEIR_OUTBOUND_ALLOW has the exceptions")
	g.StringSliceVar(&f.types, "type", nil, "types of events, comma-separated; one that ends with .* stands for all types that begin so")
	g.StringVar(&f.channel, "channel", "", "only events that name this channel")
	g.StringVar(&f.survey, "survey", "", "only events that name this survey")
	g.StringVar(&f.description, "description", "", "for people")
	g.BoolVar(&f.pii, "pii", false, "send full phone numbers; the token must have pii:read")
	r.CompleteFlag(c, "channel", app.ChannelNames)
	r.CompleteFlag(c, "survey", app.SurveyNames)
}

const aboutSecret = `The secret that signs the requests is printed, and never shown again: keep it where the
receiver reads it.`

func createCommand(r *app.Connection) *cobra.Command {
	var f fields
	c := r.APICommand("create", "Create a webhook", `Create a webhook. It gets the events that happen from then on.

`+aboutSecret, `  weir webhook create --url https://app.example/weir --type 'weir.contact.*,weir.message.received'
  weir webhook create --url https://app.example/weir --type weir.contact.done --survey anc-2026 --output json | jq -r .secret`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if f.url == "" || len(f.types) == 0 {
				return command.UsageError(c, "give --url and --type")
			}
			body := client.WebhookBody{URL: f.url, Types: f.types, Channel: f.channel, Survey: f.survey, Description: f.description, PII: f.pii}
			if f.paused {
				// A pointer to false: a webhook without the field is enabled.
				body.Enabled = new(bool)
			}
			h, err := to.CreateWebhook(ctx, body)
			if err != nil {
				return err
			}
			return r.PrintResult("%s: created; its secret is %s", h.ID, h.Secret)
		})
	f.add(c, r)
	c.Flags().BoolVar(&f.paused, "paused", false, "send nothing until it is resumed")
	return c
}

func setCommand(r *app.Connection) *cobra.Command {
	var f fields
	c := r.APICommand("set ID", "Change a webhook", `Change the given fields of a webhook. All others stay as they are; --type replaces the
whole list. Events that wait for a retry are tried at once.`, `  weir webhook set whk3v2x7c5q1z8ab --url https://new.example/weir
  weir webhook set whk3v2x7c5q1z8ab --channel ''`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			given := c.Flags().Changed
			patch := client.WebhookPatch{URL: f.url, Types: f.types}
			for name, field := range map[string]struct {
				// nil leaves a field as it is, and an empty text removes the filter: --channel
				// ''.
				to   **string
				from *string
			}{"channel": {&patch.Channel, &f.channel}, "survey": {&patch.Survey, &f.survey}, "description": {&patch.Description, &f.description}} {
				if given(name) {
					*field.to = field.from
				}
			}
			if given("pii") {
				patch.PII = &f.pii
			}
			if patch.URL == "" && patch.Types == nil && patch.Channel == nil && patch.Survey == nil && patch.Description == nil && patch.PII == nil {
				return command.UsageError(c, "no change given")
			}
			return patchWebhook(ctx, r, to, args[0], patch, "changed")
		})
	f.add(c, r)
	return c
}

func enableCommand(r *app.Connection, use string, enabled bool, short, long string) *cobra.Command {
	return r.APICommand(use+" ID", short, long, "  weir webhook "+use+" whk3v2x7c5q1z8ab",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			return patchWebhook(ctx, r, to, args[0], client.WebhookPatch{Enabled: &enabled}, use+"d")
		})
}

func patchWebhook(ctx context.Context, r *app.Connection, to *client.Client, id string, patch client.WebhookPatch, done string) error {
	h, err := to.PatchWebhook(ctx, id, patch)
	if err != nil {
		return err
	}
	return r.PrintResult("%s: %s, %s", h.ID, done, h.State)
}

func deleteCommand(r *app.Connection) *cobra.Command {
	return r.DeleteCommand("delete ID", "Delete a webhook", "Delete a webhook. Events that it has not got yet are not sent.", "  weir webhook delete whk3v2x7c5q1z8ab --yes",
		"this deletes webhook %s and the events that it has not got yet", "id", (*client.Client).DeleteWebhook)
}

func rotateCommand(clock *app.Clock, r *app.Connection) *cobra.Command {
	overlap := 24 * time.Hour
	c := r.APICommand("rotate ID", "Rotate the secret of a webhook", `Make a new secret. For the overlap each request is also signed with the former secret, so
that the receiver may know either. Secrets before that one sign as long as promised; with
--overlap 0 all of them end at once.

`+aboutSecret, "  weir webhook rotate whk3v2x7c5q1z8ab --overlap 48h\n  weir webhook rotate whk3v2x7c5q1z8ab --overlap 0   # the old secret is known to others",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			hours := overlap.Hours()
			// The API counts whole hours; with 0 all old secrets end at once.
			if hours < 0 || hours != math.Trunc(hours) {
				return command.UsageError(c, "--overlap must be in whole hours, such as 24h")
			}
			n := int(hours)
			h, err := to.RotateWebhook(ctx, args[0], client.RotateBody{OverlapHours: &n})
			if err != nil {
				return err
			}
			until := ""
			if !h.OldSecretUntil.IsZero() {
				until = "; the old secret signs too, until " + clock.FormatMinute(h.OldSecretUntil)
			}
			return r.PrintResult("%s: rotated%s; the new secret is %s", h.ID, until, h.Secret)
		})
	c.Flags().DurationVar(&overlap, "overlap", overlap, "for how long the old secret signs too, 0 to 168h")
	return c
}

func testCommand(console *app.Console, r *app.Connection) *cobra.Command {
	return r.APICommand("test ID", "Send a test event", `Send an event of type weir.webhook.test to a webhook, once, also if it is paused. Exits
with 1 if the receiver does not answer with 2xx.`, "  weir webhook test whk3v2x7c5q1z8ab",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, args []string) error {
			d, err := to.TestWebhook(ctx, args[0])
			if err != nil {
				return err
			}
			if d.Result != "delivered" {
				// Scripts read from the result why it failed.
				if r.JSON() {
					err = app.WriteRaw(console.Stdout, r.Body)
				}
				return errors.Join(command.Exit(app.Failure, "the test event was not delivered: "+errorText(d)), err)
			}
			return r.PrintResult("%s: delivered, status %d after %.0f ms", args[0], d.Status, d.DurationMS)
		})
}

func replayCommand(a *app.App, r *app.Connection) *cobra.Command {
	var body client.ReplayBody
	c := r.APICommand("replay ID", "Deliver events again", `Deliver one event again, or all whose delivery was given up at an instant or later. They
have the id that they had, so that the receiver can tell repeats. Events that wait for a
retry are tried at once.

An event that is older than a day is tried once.`, "  weir webhook replay whk3v2x7c5q1z8ab --failed-since 6h\n  weir webhook replay whk3v2x7c5q1z8ab --event 7241",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if (body.Event == "") == body.FailedSince.IsZero() {
				return command.UsageError(c, "give either --event or --failed-since")
			}
			for total := 0; ; {
				v, err := to.ReplayWebhook(ctx, args[0], body)
				if err != nil {
					return err
				}
				// One request replays a bounded number. Without progress the loop ends, so that
				// it cannot repeat forever.
				if total += v.Replayed; v.More && v.Replayed > 0 {
					continue
				}
				return a.Console.PrintValue(&r.Output, map[string]int{"replayed": total}, "%s: %s will be delivered again", args[0], terminal.Plural(total, "event", "events"))
			}
		})
	c.Flags().StringVar(&body.Event, "event", "", "id of an event in the log")
	a.Clock.TimeFlag(c, &body.FailedSince, "failed-since", "all events whose delivery was given up at or after")
	return c
}

// names lists the webhooks for completion.
func names(ctx context.Context, to *client.Client, found func(name, about string) bool) error {
	for h, err := range to.Webhooks(ctx, client.ListWebhooksParams{}) {
		if err != nil || !found(h.ID, h.URL) {
			return err
		}
	}
	return nil
}
