package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/client/routerclient"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// printList prints a list of the router.
func printList[T any](ctx context.Context, l *app.List, d *connection, to *routerclient.Client, kind string, query url.Values, row func(T) ([]terminal.Cell, error)) error {
	err := routerclient.Each(ctx, to, kind, query, func(x T, raw json.RawMessage) error {
		if d.JSON() {
			return l.Add(raw)
		}
		cells, err := row(x)
		if err != nil {
			return err
		}
		return l.Add(raw, cells...)
	})
	if err != nil {
		return err
	}
	return l.Close()
}

// filters adds flags that set the parameters of a list.
func filters(c *cobra.Command, into url.Values, names map[string]string) {
	for flag, parameter := range names {
		c.Flags().Func(flag, "only elements with this "+flag, func(text string) error {
			into.Set(parameter, text)
			return nil
		})
	}
}

// workersCommand makes "weir route workers".
func workersCommand(a *app.App, d *connection) *cobra.Command {
	query := url.Values{}
	c := watchCommand(a, d, "workers", "List workers", "List workers by id.",
		"  weir route workers --state active --queue agents", func(c *cobra.Command, to *routerclient.Client, out io.Writer) error {
			l := a.Console.NewList(&d.Output, out, app.Column("WORKER", 12), app.Column("STATE"), app.NumberColumn("JOBS"), app.NumberColumn("OFFERS"), app.NumberColumn("LOAD"), app.Column("QUEUES", 10), app.Column("LABELS", 10))
			return printList(c.Context(), l, d, to, "workers", query, func(w router.Worker) ([]terminal.Cell, error) {
				return app.Cells(w.ID, app.StateCell(string(w.State)), len(w.AssignedJobs), len(w.Offers), fmt.Sprintf("%.0f%%", 100*w.LoadRatio),
					strings.Join(w.Queues, ","), labelsText(w.Labels)), nil
			})
		})
	filters(c, query, map[string]string{"state": "state", "queue": "queueId", "channel": "channelId"})
	return c
}

// queuesCommand makes "weir route queues".
func queuesCommand(a *app.App, d *connection) *cobra.Command {
	return watchCommand(a, d, "queues", "List queues", "List queues by id, with length and longest wait.",
		"  weir route queues", func(c *cobra.Command, to *routerclient.Client, out io.Writer) error {
			l := a.Console.NewList(&d.Output, out, app.Column("QUEUE", 12), app.NumberColumn("LENGTH"), app.NumberColumn("LONGEST WAIT"), app.Column("CLOSED"), app.Column("DISTRIBUTION", 10), app.Column("EXCEPTIONS", 10))
			return printList(c.Context(), l, d, to, "queues", nil, func(q routerclient.Queue) ([]terminal.Cell, error) {
				f, err := to.Statistics(c.Context(), q.ID)
				if err != nil {
					return nil, err
				}
				wait := ""
				if f.LongestJobWaitTimeMinutes != nil {
					wait = time.Duration(*f.LongestJobWaitTimeMinutes * float64(time.Minute)).Round(time.Second).String()
				}
				return app.Cells(q.ID, f.Length, wait, q.Closed, q.DistributionPolicyID, q.ExceptionPolicyID), nil
			})
		})
}

// jobsCommand makes "weir route jobs".
func jobsCommand(a *app.App, d *connection) *cobra.Command {
	query := url.Values{}
	unmatchable, why := false, false
	c := watchCommand(a, d, "jobs", "List jobs", "List jobs in the order of their creation. --why adds the reason why a job is waiting,\nwith a request for each waiting job.",
		"  weir route jobs --status queued --why\n  weir route jobs --queue callers --unmatchable", func(c *cobra.Command, to *routerclient.Client, out io.Writer) error {
			if unmatchable {
				return printUnmatchable(a.Console, c, d, to, query.Get("queueId"), out)
			}
			head := []terminal.Column{app.Column("JOB", 12), app.Column("STATUS"), app.Column("QUEUE", 8), app.Column("CHANNEL", 8), app.NumberColumn("PRIORITY"), app.Column("QUEUED"), app.Column("WORKER", 8), app.Column("DISPOSITION", 8)}
			if why {
				head = append(head, app.Column("WHY", 20))
			}
			return printList(c.Context(), a.Console.NewList(&d.Output, out, head...), d, to, "jobs", query, func(j router.Job) ([]terminal.Cell, error) {
				worker := ""
				for _, as := range j.Assignments {
					worker = as.WorkerID
				}
				row := app.Cells(j.ID, app.StateCell(string(j.Status)), j.QueueID, j.ChannelID, j.EffectivePriority(), a.Clock.FormatMinute(j.EnqueuedAt), worker, j.DispositionCode)
				if !why {
					return row, nil
				}
				reason, err := reasonOf(c.Context(), to, &j)
				return append(row, app.Cells(a.Clock.FormatWhy(reason))...), err
			})
		})
	filters(c, query, map[string]string{"status": "status", "queue": "queueId", "channel": "channelId"})
	c.Flags().BoolVar(&why, "why", false, "show why each job is waiting")
	c.Flags().BoolVar(&unmatchable, "unmatchable", false, "only ids of jobs of one queue for which no worker has the skills")
	return c
}

// reasonOf returns why a job waits; empty if it does not wait, or was deleted meanwhile.
func reasonOf(ctx context.Context, to *routerclient.Client, j *router.Job) (string, error) {
	if !j.Status.Active() || j.Status == resource.JobAssigned {
		return "", nil
	}
	w, err := to.Why(ctx, j.ID)
	if e, ok := errors.AsType[*routerclient.Error](err); ok && e.Status == http.StatusNotFound {
		err = nil
	}
	return w.Why, err
}

// printUnmatchable prints the ids of the jobs of a queue for which no worker has the skills.
func printUnmatchable(console *app.Console, c *cobra.Command, d *connection, to *routerclient.Client, queue string, out io.Writer) error {
	if queue == "" {
		return command.UsageError(c, "--unmatchable requires --queue")
	}
	ids, err := to.Unmatchable(c.Context(), queue, 1000)
	if err != nil {
		return err
	}
	l := console.NewList(&d.Output, out, app.Column("JOB"))
	for _, id := range ids {
		if err := l.Add(map[string]string{"id": id}, app.TextCell(id)); err != nil {
			return err
		}
	}
	return l.Close()
}

// poolsCommand makes "weir route pools".
func poolsCommand(a *app.App, d *connection) *cobra.Command {
	return watchCommand(a, d, "pools", "List the pools with depth and version", "Lists the pools by id: how many available workers pass each filter, and how often\nthat has changed.",
		"  weir route pools", func(c *cobra.Command, to *routerclient.Client, out io.Writer) error {
			l := a.Console.NewList(&d.Output, out, app.Column("POOL", 12), app.NumberColumn("DEPTH"), app.NumberColumn("VERSION"), app.Column("QUEUE", 8), app.Column("CHANNEL", 8), app.Column("FILTER", 12))
			return printList(c.Context(), l, d, to, "pools", nil, func(p routerclient.Pool) ([]terminal.Cell, error) {
				return app.Cells(p.ID, p.Depth, p.Version, p.QueueID, p.ChannelID, filterText(p.Selectors)), nil
			})
		})
}

// labelsText formats labels on one line; a label that is true appears as its name only.
func labelsText(l label.Set) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(l)) {
		if is, ok := l[k].Bool(); ok && is {
			out = append(out, k)
		} else if k != "Id" { // Id only repeats the id
			out = append(out, k+"="+l[k].String())
		}
	}
	return strings.Join(out, " ")
}

// filterText formats selectors as a filter; a label that must be true appears as its
// name only.
func filterText(list []resource.WorkerSelector) string {
	signs := map[label.Operator]string{
		label.Equal: "=", label.NotEqual: "!=", label.LessThan: "<", label.LessOrEqual: "<=", label.GreaterThan: ">", label.GreaterOrEqual: ">=",
	}
	var out []string
	for _, s := range list {
		if is, ok := s.Value.Bool(); ok && is && s.Operator == label.Equal {
			out = append(out, s.Key)
			continue
		}
		out = append(out, s.Key+signs[s.Operator]+s.Value.String())
	}
	return strings.Join(out, ",")
}
