package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

func routerJobPage() *page {
	const one = "/router/jobs/{id}"
	const held = one + "/assignments/{assignment}"
	return &page{
		name: "router_job", path: one, scopes: routerUsers(), load: loadJob, live: []string{"job"},
		actions: []action{
			{path: one + "/cancel", scopes: routerUsers(), ask: askCancelJob, do: cancelJob},
			{path: held + "/complete", scopes: routerUsers(), ask: askAssignment("Complete", "The worker has done what was asked; the job is then to be closed."), do: endAssignment("complete", "is completed")},
			{path: held + "/close", scopes: routerUsers(), ask: askAssignment("Close", "The worker is free again, and nothing follows for the job."), do: endAssignment("close", "is closed")},
			{path: held + "/unassign", scopes: routerUsers(), ask: askAssignment("Give back", "The job goes back to its queue, and is offered again. The worker is free at once."), do: endAssignment("unassign", "waits again")},
		},
	}
}

// jobData is the data of a job's page.
type jobData struct {
	routerJob
	Assigned []routerAssignment // oldest first
	Place    *jobPlace          // nil: it does not wait in a queue
	Why      string             // why it waits; empty: it does not
	Timeline []happening
}

// jobPlace is a job's position in its queue.
type jobPlace struct {
	Position  int `json:"position"`
	Length    int `json:"queueLength"`
	Estimated int `json:"estimatedWaitTimeMinutes"`
}

// Wait returns the estimated remaining wait.
func (p *jobPlace) Wait() string { return span(time.Duration(p.Estimated) * time.Minute) }

func (v *visit) job() (j routerJob, err error) {
	err = v.askRouter(routerPath("jobs", v.r.PathValue("id")), nil, &j)
	return j, err
}

func jobLink(id string) string { return "/router/jobs/" + url.PathEscape(id) }

func jobCrumbs(id string, more ...crumb) []crumb {
	own := crumb{Text: id}
	if len(more) > 0 {
		own.Link = jobLink(id)
	}
	return routerCrumbs(append([]crumb{{Text: "Jobs", Link: "/router/jobs"}, own}, more...)...)
}

func loadJob(v *visit) (*content, error) {
	j, err := v.job()
	if err != nil {
		return nil, err
	}
	d := &jobData{routerJob: j}
	d.Assigned = slices.SortedFunc(maps.Values(j.Assignments), func(a, b routerAssignment) int {
		return cmp.Or(a.AssignedAt.Compare(b.AssignedAt), cmp.Compare(a.ID, b.ID))
	})
	if j.Status == "queued" {
		place := &jobPlace{}
		switch err := v.askRouter(routerPath("jobs", j.ID)+"/position", nil, place); {
		case err == nil:
			d.Place = place
		default:
			if status, _ := statusOf(err); status != http.StatusNotFound {
				return nil, err // on 404 it has just left its queue
			}
		}
	}
	var why struct{ Why string }
	if err := v.askRouter(routerPath("jobs", j.ID)+"/why", nil, &why); err != nil {
		return nil, err
	}
	d.Why = why.Why
	d.Timeline = d.timeline(v)
	return &content{title: "Job " + j.ID, crumbs: jobCrumbs(j.ID), data: d}, nil
}

// timeline lists the events of a job.
func (d *jobData) timeline(v *visit) []happening {
	list := []happening{{At: d.ScheduledAt, What: "scheduled"}, {At: d.EnqueuedAt, What: "queued"}, {At: d.NotAfter, What: "gives up if it waits still"}}
	for _, a := range d.Assigned {
		link := v.Link("/router/workers", a.WorkerID)
		list = append(list, happening{a.AssignedAt, "assigned to", link, a.WorkerID}, happening{a.CompletedAt, "completed by", link, a.WorkerID},
			happening{a.ClosedAt, "closed with", link, a.WorkerID})
	}
	for _, n := range d.Notes {
		list = append(list, happening{At: n.AddedAt, What: "note: " + truncate(200, n.Message)})
	}
	for _, s := range slices.Concat(d.Requested, d.Attached) {
		list = append(list, happening{At: s.ExpiresAt, What: "no longer asks for " + s.Text()})
	}
	return inOrder(list)
}

func askCancelJob(v *visit) (*question, error) {
	j, err := v.job()
	if err != nil {
		return nil, err
	}
	q := &question{
		title: "Cancel job " + j.ID, Button: "Cancel the job", Danger: true, back: jobLink(j.ID), crumbs: jobCrumbs(j.ID, crumb{Text: "Cancel"}),
		Text:   "It cannot be brought back. Offers of it are taken back, and a worker who has it is free at once.",
		Facts:  []fact{{"State", j.StatusText()}, {"Queue", cmp.Or(j.QueueID, "none")}},
		Fields: []field{noteField(), {Name: "disposition", Label: "Disposition code", Type: "text", Help: "Optional."}},
	}
	if a := j.Held(); a != nil {
		q.Facts = append(q.Facts, fact{"Worker", a.WorkerID})
	}
	return q, nil
}

func cancelJob(v *visit) (*done, error) {
	id := v.r.PathValue("id")
	err := v.tellRouter(http.MethodPost, routerPath("jobs", id)+":cancel", nil, noted(v, map[string]string{"dispositionCode": "disposition"}), nil)
	return &done{text: "Job " + id + " is cancelled.", to: jobLink(id)}, err
}

func askAssignment(button, text string) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		j, err := v.job()
		if err != nil {
			return nil, err
		}
		a, ok := j.Assignments[v.r.PathValue("assignment")]
		if !ok {
			return nil, notFoundHere("the job has no such assignment")
		}
		q := &question{
			title: button + " job " + j.ID, Button: button, Text: text, back: jobLink(j.ID), crumbs: jobCrumbs(j.ID, crumb{Text: button}),
			Facts: []fact{{"State", j.StatusText()}, {"Worker", a.WorkerID}, {"Assigned for", span(since(v.Now(), a.AssignedAt))}},
		}
		switch button {
		case "Close":
			q.Fields = []field{noteField(), {Name: "disposition", Label: "Disposition code", Type: "text", Help: "Optional."}}
		case "Complete":
			q.Fields = []field{noteField()}
		}
		return q, nil
	}
}

func endAssignment(step, became string) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		id := v.r.PathValue("id")
		body := map[string]any{}
		if step != "unassign" {
			body = noted(v, map[string]string{"dispositionCode": "disposition"})
		}
		err := v.tellRouter(http.MethodPost, routerPath("jobs", id, "assignments", v.r.PathValue("assignment"))+":"+step, nil, body, nil)
		return &done{text: "Job " + id + " " + became + ".", to: jobLink(id)}, err
	}
}
