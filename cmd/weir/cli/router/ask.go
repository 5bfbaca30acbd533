package router

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client/routerclient"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
	"weir/router"
	"weir/router/acd"
	"weir/router/resource"
)

// request is a request for a worker.
type request struct {
	filter, queue, channel, id string
	selectors                  []resource.WorkerSelector
	peek                       bool
}

// askResult is the printed result.
type askResult struct {
	Filter   string             `json:"filter"`
	Depth    int                `json:"depth"`             // before the request
	Pool     string             `json:"pool,omitempty"`    // the pool with this filter
	Version  *uint64            `json:"version,omitempty"` // of the pool, after the request
	Job      string             `json:"job,omitempty"`
	Status   resource.JobStatus `json:"status,omitempty"`
	Worker   string             `json:"worker,omitempty"` // who has the job, or would be next
	Name     string             `json:"name,omitempty"`
	Since    *time.Time         `json:"available_since,omitempty"`
	Position *router.Position   `json:"position,omitempty"` // of a waiting job
}

// askCommand makes "weir route ask".
func askCommand(a *app.App, d *connection) *cobra.Command {
	var q request
	c := newCommand(a, d, "ask FILTER", "Request a worker for a job", `Create a job with the requirements of the filter, and print the worker that it was
assigned to and since when that worker was available. In the queue "agents" of "weir
route seed" a job is assigned at once or canceled (exit code 1); in a queue in which
jobs wait, its position is printed. With --peek no job is created.

A filter is Q#language#gender, or comma-separated labels with values, such as
language=Spanish,gender=M,level>=3; operators are = != < <= > >=. A value of language
or skill requires a label of that name.`, `  weir route ask 'Q#Spanish#M'
  weir route ask 'language=Spanish,level>=3' --peek
  weir route ask Spanish --queue callers`, func(c *cobra.Command, to *routerclient.Client, args []string) error {
		var err error
		q.filter = args[0]
		if q.selectors, err = acd.ParseFilter(args[0]); err != nil {
			return command.UsageError(c, fmt.Sprintf("%q is not a filter: write Q#Spanish#M, or Spanish,gender=M,level>=3", args[0]))
		}
		out, err := ask(c.Context(), to, q)
		if err != nil {
			return err
		}
		if d.JSON() {
			err = a.Console.PrintJSON(out)
		} else {
			_, err = fmt.Fprint(a.Console.Stdout, out.text(q.peek))
		}
		if err == nil && out.Worker == "" && out.Position == nil {
			err = errors.New("no worker is available")
		}
		return err
	})
	f := c.Flags()
	f.StringVar(&q.queue, "queue", acd.Agents, "queue of the job")
	f.StringVar(&q.channel, "channel", acd.Channel, "channel of the job")
	f.StringVar(&q.id, "job", "", "id of the job (default: a new id)")
	f.BoolVar(&q.peek, "peek", false, "only show the next worker and the number of available workers")
	return c
}

// ask reads the available workers and, unless it only peeks, creates the job. These are
// separate requests: another job may be assigned in between.
func ask(ctx context.Context, to *routerclient.Client, q request) (askResult, error) {
	out := askResult{Filter: q.filter}
	// The job may go to any of them, as the queue's policy says.
	ready, err := to.Ready(ctx, q.queue, q.channel, q.filter, 1000)
	if err != nil {
		return out, err
	}
	out.Depth = ready.Depth
	if !q.peek {
		if err := assign(ctx, to, q, &out); err != nil {
			return out, err
		}
	} else if len(ready.Value) > 0 {
		out.Worker = ready.Value[0].WorkerID
	}
	for _, w := range ready.Value { // read before the request; another job may have been faster
		if w.WorkerID == out.Worker {
			out.Since = &w.Since
		}
	}
	if out.Worker != "" {
		w, err := to.Worker(ctx, out.Worker)
		if err != nil {
			return out, err
		}
		out.Name, _ = w.Tags["name"].Text()
	}
	return out, findPool(ctx, to, q, &out)
}

// assign makes the job and reads its result.
func assign(ctx context.Context, to *routerclient.Client, q request, out *askResult) error {
	out.Job = cmp.Or(q.id, "ask-"+strings.ToLower(rand.Text()))
	err := to.Patch(ctx, "jobs", out.Job, map[string]any{
		"channelId": q.channel, "queueId": q.queue, "requestedWorkerSelectors": q.selectors,
	})
	if err != nil {
		return err
	}
	j, err := to.Job(ctx, out.Job)
	if err != nil {
		return err
	}
	out.Status = j.Status
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			out.Worker = a.WorkerID
		}
	}
	if j.Status != resource.JobQueued {
		return nil
	}
	p, err := to.Position(ctx, out.Job)
	if rejected, ok := errors.AsType[*routerclient.Error](err); ok && rejected.Status/100 == 4 {
		return nil // the job no longer waits
	}
	out.Position = &p
	return err
}

// findPool finds the pool with exactly the requested filter.
func findPool(ctx context.Context, to *routerclient.Client, q request, out *askResult) error {
	return routerclient.Each(ctx, to, "pools", url.Values{}, func(p routerclient.Pool, _ json.RawMessage) error {
		if p.ChannelID == q.channel && p.QueueID == q.queue && acd.SameFilter(p.Selectors, q.selectors) {
			out.Pool, out.Version = p.ID, &p.Version
		}
		return nil
	})
}

// text formats the result for people.
func (r askResult) text(peek bool) string {
	var b strings.Builder
	who := r.Worker
	if r.Name != "" {
		who = r.Name + " (" + r.Worker + ")"
	}
	if r.Since != nil {
		who += ", available since " + r.Since.UTC().Format("2006-01-02 15:04:05.000000 MST")
	}
	switch {
	case r.Worker == "" && r.Position != nil:
		fmt.Fprintf(&b, "%s: job %s is queued at position %d of %d\n", r.Filter, r.Job, r.Position.Position, r.Position.QueueLength)
	case r.Worker == "":
		fmt.Fprintf(&b, "%s: no worker is available\n", r.Filter)
	case peek:
		fmt.Fprintf(&b, "%s: next is %s\n", r.Filter, who)
	default:
		fmt.Fprintf(&b, "%s: %s has job %s\n", r.Filter, who, r.Job)
	}
	fmt.Fprintf(&b, "available: %d", r.Depth)
	if !peek {
		b.WriteString(" before")
	}
	if r.Version != nil {
		fmt.Fprintf(&b, "; version of pool %s: %d", r.Pool, *r.Version)
	}
	return b.String() + "\n"
}
