package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/internal/backoff"
	"weir/internal/webhooksign"
)

const aboutListen = `Send each event to a program on this machine as a webhook would, while you develop it:
the same headers, signature and body. It needs no webhook and no address that Weir can
reach; the token needs what "weir events" needs.

It begins with the next event, and resumes after a lost connection. Events are sent one
after the other. One that is not answered with 2xx is tried again, --tries times in all.

The requests are signed with a secret of its own, which is printed, or with the one in
--secret-file: a file with whsec_ and the base64 form of 24 to 64 bytes.

An interruption also exits with 0.`

// listener sends events to a program.
type listener struct {
	clock   *app.Clock
	console *app.Console
	r       *app.Connection
	to      string
	secret  string
	tries   int
	client  *http.Client
}

// ListenCommand makes "weir listen".
func ListenCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	r.Format = command.NewChoice("table", "table", "jsonl", "json")
	l := &listener{clock: a.Clock, console: a.Console, r: r, tries: 5, client: &http.Client{
		// A redirect counts as a failure, as for webhooks: only 2xx is a success.
		Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	var types []string
	var p client.ListEventsParams
	var after, secretFile string
	c := r.APICommand("listen", "Send events to a program that you develop", aboutListen,
		"  weir listen --forward-to http://localhost:3000/weir --type 'weir.contact.*'\n  weir listen --forward-to http://localhost:3000/weir --secret-file webhook.secret --after 7241",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if u, err := url.Parse(l.to); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return command.UsageError(c, "--forward-to must be an http or https URL")
			}
			if l.tries < 1 {
				return command.UsageError(c, "--tries must be 1 or more")
			}
			if err := l.readSecret(secretFile); err != nil {
				return err
			}
			p.Type = strings.Join(types, ",")
			return a.Watcher.Follow(ctx, to, client.Follow{Params: p, After: after, OnEvent: func(e client.EventView) error { return l.forward(ctx, &e) }})
		})
	f := c.Flags()
	f.StringVar(&l.to, "forward-to", "", "URL of the program")
	f.StringSliceVar(&types, "type", nil, "only events of these types, comma-separated; * at the end stands for all types that begin so")
	f.StringVar(&p.Subject, "subject", "", "only events whose subject has this prefix")
	f.StringVar(&p.Source, "source", "", "only events of this source: router, surveys, channels or contacts")
	f.StringVar(&after, "after", "", "start after the event with this id; 0: with the oldest stored event")
	f.StringVar(&secretFile, "secret-file", "", "file with the secret that signs (default: a new one, which is printed)")
	f.IntVar(&l.tries, "tries", l.tries, "maximum number of tries of an event")
	_ = c.MarkFlagRequired("forward-to")
	r.AddConnectionFlags(c)
	return c
}

// readSecret reads the secret, or makes one.
func (l *listener) readSecret(file string) error {
	l.secret = webhooksign.NewSecret()
	if file == "" {
		l.console.Note("signed with the secret " + l.secret)
		return nil
	}
	raw, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	l.secret = strings.TrimSpace(string(raw))
	if _, err := webhooksign.Header("test", l.clock.Now(), nil, l.secret); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// sent describes what became of an event.
type sent struct {
	At         time.Time `json:"at"`
	Event      string    `json:"event"`
	Type       string    `json:"type"`
	Subject    string    `json:"subject"`
	Try        int       `json:"try"`
	Status     int       `json:"status,omitempty"`
	DurationMS float64   `json:"duration_ms"`
	Error      string    `json:"error,omitempty"`
}

// forward sends an event until it is taken, or was tried often enough.
func (l *listener) forward(ctx context.Context, e *client.EventView) error {
	id := e.ID + "-" + strconv.FormatInt(e.At.UnixMicro(), 36)
	body, err := json.Marshal(webhooksign.Payload{Type: e.Type, Timestamp: e.At.UTC().Format(time.RFC3339Nano), ID: id, Subject: e.Subject, Source: e.Source, Data: e.Data})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		at := l.clock.Now()
		status, err := l.post(ctx, id, body)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := sent{At: at, Event: e.ID, Type: e.Type, Subject: e.Subject, Try: try, Status: status, DurationMS: float64(l.clock.Now().Sub(at).Microseconds()) / 1000}
		switch {
		case err != nil:
			s.Error = "unreachable"
			if u, ok := errors.AsType[*url.Error](err); ok && u.Timeout() {
				s.Error = "timeout"
			}
		case status/100 != 2:
			s.Error = "status"
		}
		if err := l.print(&s); err != nil || s.Error == "" {
			return err
		}
		if try == l.tries {
			l.console.Warn(fmt.Sprintf("event %s: given up after %s", e.ID, terminal.Plural(try, "try", "tries")))
			return nil
		}
		if !backoff.Wait(ctx, backoff.Delay(try, time.Second, 30*time.Second)) {
			return ctx.Err()
		}
	}
}

// post sends a request once.
func (l *listener) post(ctx context.Context, id string, body []byte) (status int, err error) {
	header, err := webhooksign.Header(id+"_listen", l.clock.Now(), body, l.secret)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header = header
	answer, err := l.client.Do(request)
	if err != nil {
		return 0, err
	}
	// Read to its end, so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, answer.Body.Close()
}

func (l *listener) print(s *sent) error {
	if l.r.JSON() {
		return l.console.PrintJSON(s)
	}
	result := s.Error
	if s.Status > 0 {
		result = strconv.Itoa(s.Status)
	}
	_, err := fmt.Fprintf(l.console.Stdout, "%s  %s  %s  %-11s %4.0f ms\n", l.clock.FormatSecond(s.At), terminal.Left(terminal.Visible(s.Type), 48), terminal.Visible(s.Subject), result, s.DurationMS)
	return err
}
