package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/routerclient"
	"weir/routing/label"
	"weir/routing/resource"
)

// listing returns the function that prints a list of the router.
func listing[T any](a *app, d *desk, c *cobra.Command, to *routerclient.Client, kind string, query url.Values, head []terminal.Column, row func(T) ([]terminal.Cell, error)) func(io.Writer) error {
	return func(out io.Writer) error {
		l := a.list(&d.printing, out, head...)
		err := routerclient.Each(c.Context(), to, kind, query, func(x T, raw json.RawMessage) error {
			if d.json() {
				return l.add(raw)
			}
			cells, err := row(x)
			if err != nil {
				return err
			}
			return l.add(raw, cells...)
		})
		if err != nil {
			return err
		}
		return l.end()
	}
}

// cells converts values to cells.
func cells(all ...any) []terminal.Cell {
	out := make([]terminal.Cell, len(all))
	for i, x := range all {
		if cell, ok := x.(terminal.Cell); ok {
			out[i] = cell
		} else {
			out[i] = plainCell(fmt.Sprint(x))
		}
	}
	return out
}

// filters adds flags that set the parameters of a list.
func filters(c *cobra.Command, into url.Values, names map[string]string) {
	for flag, parameter := range names {
		c.Flags().Func(flag, "only those with this "+flag, func(text string) error {
			into.Set(parameter, text)
			return nil
		})
	}
}

func (a *app) routeWorkers(d *desk) *cobra.Command {
	query := url.Values{}
	var w watching
	c := a.routing(d, "workers", "List the workers", "Lists the workers by id.",
		"  weir route workers --state active --queue agents", func(c *cobra.Command, to *routerclient.Client, _ []string) error {
			head := []terminal.Column{left("WORKER", 12), left("STATE"), right("JOBS"), right("OFFERS"), right("LOAD"), left("QUEUES", 10), left("LABELS", 10)}
			return a.follow(c.Context(), &d.printing, &w, listing(a, d, c, to, "workers", query, head, func(w routerclient.Worker) ([]terminal.Cell, error) {
				return cells(w.ID, stateCell(string(w.State)), len(w.AssignedJobs), len(w.Offers), fmt.Sprintf("%.0f%%", 100*w.LoadRatio),
					strings.Join(w.Queues, ","), labelsText(w.Labels)), nil
			}))
		})
	w.flag(c)
	filters(c, query, map[string]string{"state": "state", "queue": "queueId", "channel": "channelId"})
	return c
}

func (a *app) routeQueues(d *desk) *cobra.Command {
	var w watching
	c := a.routing(d, "queues", "List the queues with their figures", "Lists the queues by id.",
		"  weir route queues", func(c *cobra.Command, to *routerclient.Client, _ []string) error {
			head := []terminal.Column{left("QUEUE", 12), right("LENGTH"), right("LONGEST WAIT"), left("CLOSED"), left("DISTRIBUTION", 10), left("EXCEPTIONS", 10)}
			return a.follow(c.Context(), &d.printing, &w, listing(a, d, c, to, "queues", nil, head, func(q routerclient.Queue) ([]terminal.Cell, error) {
				f, err := to.Statistics(c.Context(), q.ID)
				if err != nil {
					return nil, err
				}
				wait := ""
				if f.LongestJobWaitTimeMinutes != nil {
					wait = time.Duration(*f.LongestJobWaitTimeMinutes * float64(time.Minute)).Round(time.Second).String()
				}
				return cells(q.ID, f.Length, wait, q.Closed, q.DistributionPolicyID, q.ExceptionPolicyID), nil
			}))
		})
	w.flag(c)
	return c
}

func (a *app) routeJobs(d *desk) *cobra.Command {
	query := url.Values{}
	unmatchable, why := false, false
	var w watching
	c := a.routing(d, "jobs", "List the jobs", "Lists the jobs in the order in which they came. --why adds the reason why\neach job waits, with one request for each that does.",
		"  weir route jobs --status queued --why\n  weir route jobs --queue callers --unmatchable", func(c *cobra.Command, to *routerclient.Client, _ []string) error {
			if unmatchable {
				return a.follow(c.Context(), &d.printing, &w, func(out io.Writer) error { return a.unmatchable(c, d, to, query.Get("queueId"), out) })
			}
			head := []terminal.Column{left("JOB", 12), left("STATUS"), left("QUEUE", 8), left("CHANNEL", 8), right("PRIORITY"), left("QUEUED"), left("WORKER", 8), left("DISPOSITION", 8)}
			if why {
				head = append(head, left("WHY", 20))
			}
			return a.follow(c.Context(), &d.printing, &w, listing(a, d, c, to, "jobs", query, head, func(j routerclient.Job) ([]terminal.Cell, error) {
				worker := ""
				for _, as := range j.Assignments {
					worker = as.WorkerID
				}
				row := cells(j.ID, stateCell(string(j.Status)), j.QueueID, j.ChannelID, j.Priority, a.minute(j.EnqueuedAt), worker, j.DispositionCode)
				if !why {
					return row, nil
				}
				reason, err := "", error(nil)
				if j.Status.Active() && j.Status != resource.JobAssigned {
					reason, err = to.Why(c.Context(), j.ID)
				}
				return append(row, cells(reason)...), err
			}))
		})
	w.flag(c)
	filters(c, query, map[string]string{"status": "status", "queue": "queueId", "channel": "channelId"})
	c.Flags().BoolVar(&why, "why", false, "show why each job waits")
	c.Flags().BoolVar(&unmatchable, "unmatchable", false, "only the ids of those, of one queue, that no worker could take even if all were free")
	return c
}

func (a *app) unmatchable(c *cobra.Command, d *desk, to *routerclient.Client, queue string, out io.Writer) error {
	if queue == "" {
		return command.UsageError(c, "--unmatchable is about one queue; say which with --queue")
	}
	ids, err := to.Unmatchable(c.Context(), queue)
	if err != nil {
		return err
	}
	l := a.list(&d.printing, out, left("JOB"))
	for _, id := range ids {
		if err := l.add(map[string]string{"id": id}, plainCell(id)); err != nil {
			return err
		}
	}
	return l.end()
}

func (a *app) routePools(d *desk) *cobra.Command {
	var w watching
	c := a.routing(d, "pools", "List the pools with depth and version", "Lists the pools by id: how many available workers pass each filter, and how often\nthat has changed.",
		"  weir route pools", func(c *cobra.Command, to *routerclient.Client, _ []string) error {
			head := []terminal.Column{left("POOL", 12), right("DEPTH"), right("VERSION"), left("QUEUE", 8), left("CHANNEL", 8), left("FILTER", 12)}
			return a.follow(c.Context(), &d.printing, &w, listing(a, d, c, to, "pools", nil, head, func(p routerclient.Pool) ([]terminal.Cell, error) {
				return cells(p.ID, p.Depth, p.Version, p.QueueID, p.ChannelID, filterText(p.Selectors)), nil
			}))
		})
	w.flag(c)
	return c
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
