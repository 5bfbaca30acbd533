package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
)

// mostDefinition is the maximum size of a definition in bytes, the same as in the API.
const mostDefinition = 8 << 20

const putAbout = `Creates a survey, or replaces one that is still a draft, with the definition in a
JSON file ("-" for the standard input). A refusal names every mistake.

A definition, in short:

  {"title": "Flu 2026",
   "schedule": {"time_zone": "America/Mexico_City", "weekdays": ["mon", "tue"],
                "windows": [{"from": "09:00", "to": "18:00"}]},
   "modes": {"ivr": {"channel": "calls", "retries": "2h 1d"},
             "sms": {"channel": "texts", "retries": "1d"}},
   "arms": [{"modes": ["ivr", "sms"]}],
   "questionnaires": {"flu": {
      "ivr": [{"call": {"callback_url": "https://app.example/ivr?t={{token}}"}}],
      "sms": [{"messages": ["Hello {{first_name}}, may we ask you something?"]}]}},
   "fallback_delay": "2h", "cutoff": 1000,
   "quotas": [{"where": {"region": {"in": ["north"]}}, "quota": 500}],
   "application": {"url": "https://app.example/messages", "secret": "…"}}`

func (a *app) surveyPut(r *remote) *cobra.Command {
	return a.speaking(r, "put FILE NAME", "Create a survey, or replace a draft", putAbout, "  weir survey put flu.json flu",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			definition, err := a.definition(c, args[0])
			if err != nil {
				return err
			}
			// Sent as it is in the file: the server reports unknown fields.
			var raw []byte
			var s client.SurveyView
			put := client.Request{Method: http.MethodPut, Path: "/v1/surveys/" + url.PathEscape(args[1]), Body: definition}
			if err := to.CaptureBody(&raw).Do(ctx, put, &s); err != nil {
				return err
			}
			return a.told(r, raw, "%s: saved, %s", args[1], state(s.State, s.Cause))
		})
}

// definition reads a JSON file.
func (a *app) definition(c *cobra.Command, name string) (json.RawMessage, error) {
	from, _, done, err := a.input(c, name)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := io.ReadAll(io.LimitReader(from, mostDefinition+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > mostDefinition:
		return nil, fmt.Errorf("%s is longer than %s", name, size(mostDefinition))
	}
	var definition json.RawMessage
	err = json.Unmarshal(text, &definition)
	if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
		line, column := position(text, at.Offset)
		return nil, fmt.Errorf("%s: line %d, column %d: %w", name, line, column, err)
	}
	return definition, err
}

// position returns line and column of the last byte read.
func position(text []byte, offset int64) (line, column int) {
	line = 1
	for _, b := range text[:max(0, min(offset-1, int64(len(text))))] {
		column++
		if b == '\n' {
			line, column = line+1, 0
		}
	}
	return line, column + 1
}

// input opens a file, or the standard input; bytes is 0 if its size is unknown.
func (a *app) input(c *cobra.Command, name string) (_ io.Reader, bytes int64, done func(), err error) {
	if name == "-" {
		if a.Stdin == nil {
			return nil, 0, nil, command.UsageError(c, "there is no standard input")
		}
		return a.Stdin, 0, func() {}, nil
	}
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, 0, nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		bytes = info.Size()
	}
	return f, bytes, func() { _ = f.Close() }, nil
}
