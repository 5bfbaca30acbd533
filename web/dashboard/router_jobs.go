package dashboard

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"weir/client/routerclient"
	"weir/router"
	"weir/router/resource"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// jobList is the data of the page of all jobs.
type jobList struct {
	Status, Queue string // filters; empty: none
	Statuses      []option
	List          []routerJob
	Pager         pager
}

// Filtered reports whether the list may omit jobs.
func (l *jobList) Filtered() bool { return l.Status != "" || l.Queue != "" || l.Pager.First != "" }

func loadJobs(v *visit) (*content, error) {
	asked := v.r.URL.Query()
	l := &jobList{Statuses: jobStatuses(v.Locale), Queue: asked.Get("queue")}
	query := listQuery(v)
	// An unknown filter, as of an old bookmark, is ignored: the page shows which filters apply.
	if status := asked.Get("status"); slices.ContainsFunc(l.Statuses, func(o option) bool { return o.Value == status }) {
		l.Status = status
		query.Set("status", status)
	}
	if l.Queue != "" {
		query.Set("queueId", l.Queue)
	}
	var err error
	l.List, l.Pager, err = listPage[routerJob](v, "jobs", query)
	return &content{title: v.T("Jobs of the router"), crumbs: routerCrumbs(v.Locale, crumb{Text: v.T("Jobs")}), data: l}, err
}

// jobData is the data of a job's page.
type jobData struct {
	routerJob
	Assigned []router.Assignment // oldest first
	Place    *router.Position    // nil: it does not wait in a queue
	waiting
	Timeline []timelineEntry
}

// waiting explains why a job waits.
type waiting struct{ routerclient.Waiting }

func readJob(c *caller, id string) (j routerJob, err error) {
	j.Job, err = clientOf(c).Job(c.context(), id)
	return j, err
}

// Reason returns why it waits; empty: it does not.
func (w *waiting) Reason(l *locale.Locale) template.HTML { return clausesHTML(l, w.WhyClauses, "") }

func jobLink(id string) string { return "/router/jobs/" + url.PathEscape(id) }

func jobCrumbs(l *locale.Locale, id string, more ...crumb) []crumb {
	return routerCrumbs(l, append([]crumb{{Text: l.T("Jobs"), Link: "/router/jobs"}, {Text: id, Link: jobLink(id)}}, more...)...)
}

func loadJob(v *visit) (*content, error) {
	j, err := readJob(v.caller, v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := &jobData{routerJob: j}
	d.Assigned = slices.SortedFunc(maps.Values(j.Assignments), func(a, b router.Assignment) int {
		return cmp.Or(a.AssignedAt.Compare(b.AssignedAt), cmp.Compare(a.AssignmentID, b.AssignmentID))
	})
	if j.Status == resource.JobQueued {
		switch place, err := clientOf(v.caller).Position(v.r.Context(), j.ID); {
		case err == nil:
			d.Place = &place
		default:
			if status, _ := statusOf(err); status != http.StatusNotFound {
				return nil, err // on 404 it has just left its queue
			}
		}
	}
	if d.Waiting, err = clientOf(v.caller).Why(v.r.Context(), j.ID); err != nil {
		return nil, err
	}
	d.Timeline = d.timeline(v)
	return &content{title: v.T("Job %s", j.ID), crumbs: jobCrumbs(v.Locale, j.ID), data: d}, nil
}

// timeline lists the events of a job.
func (d *jobData) timeline(v *visit) []timelineEntry {
	list := []timelineEntry{{At: d.ScheduledAt, What: "scheduled"}, {At: d.EnqueuedAt, What: "queued"}, {At: d.NotAfter, What: "canceled if still waiting"}}
	for _, a := range d.Assigned {
		link := v.Link("/router/workers", a.WorkerID)
		list = append(list, timelineEntry{a.AssignedAt, "assigned to %s", link, a.WorkerID}, timelineEntry{a.CompletedAt, "completed by %s", link, a.WorkerID},
			timelineEntry{a.ClosedAt, "closed by %s", link, a.WorkerID})
	}
	for _, n := range d.Notes {
		list = append(list, timelineEntry{At: n.AddedAt, What: "note: %s", Text: display.Truncate(200, n.Message)})
	}
	for _, s := range slices.Concat(d.RequestedWorkerSelectors, d.AttachedWorkerSelectors) {
		list = append(list, timelineEntry{At: s.ExpiresAt, What: "selector expires: %s", Text: selectorText(s)})
	}
	return sortTimeline(list)
}

func askCancelJob(v *visit) (*question, error) {
	j, err := readJob(v.caller, v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	q := &question{
		title: v.T("Cancel job %s", j.ID), Button: v.T("Cancel job"), Danger: true, back: jobLink(j.ID), crumbs: jobCrumbs(v.Locale, j.ID, crumb{Text: v.T("Cancel")}),
		Text:   v.T("This cannot be undone. Open offers are revoked, and the capacity of an assigned worker is released at once."),
		Facts:  []fact{{v.T("State"), j.StatusText(v.Locale)}, {v.T("Queue"), cmp.Or(j.QueueID, v.T("none"))}},
		Fields: endFields(v.Locale),
	}
	if a := j.CurrentAssignment(); a != nil {
		q.Facts = append(q.Facts, fact{v.T("Worker"), a.WorkerID})
	}
	return q, nil
}

func cancelJob(v *visit) (*done, error) {
	id := v.r.PathValue("id")
	err := clientOf(v.caller).Act(v.r.Context(), "cancel", endBody(v), "jobs", id)
	return &done{text: v.T("Job %s is cancelled.", id), to: jobLink(id)}, err
}

// askAssignment returns the question about an action that ends an assignment, with the first fields
// of [endFields]. title names the job.
func askAssignment(fields int, button, title, text locale.Message) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		j, err := readJob(v.caller, v.r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		a, ok := j.Assignments[v.r.PathValue("assignment")]
		if !ok {
			// It may have ended since the page was made: reported now, and not after the
			// confirmation.
			return nil, &problem{Status: http.StatusNotFound, Detail: v.T("assignment not found on this job")}
		}
		return &question{
			title: v.T(title, j.ID), Button: v.T(button), Text: v.T(text), back: jobLink(j.ID), crumbs: jobCrumbs(v.Locale, j.ID, crumb{Text: v.T(button)}),
			Facts:  []fact{{v.T("State"), j.StatusText(v.Locale)}, {v.T("Worker"), a.WorkerID}, {v.T("Assigned for"), v.Span(locale.Since(v.Now(), a.AssignedAt))}},
			Fields: endFields(v.Locale)[:fields],
		}, nil
	}
}

func endAssignment(step string, became locale.Message) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		id := v.r.PathValue("id")
		return &done{text: v.T(became, id), to: jobLink(id)}, actOnAssignment(v, step, endBody(v))
	}
}

// actOnAssignment performs an action on the assignment that the path of a page names.
func actOnAssignment(v *visit, action string, body any) error {
	return clientOf(v.caller).Act(v.r.Context(), action, body, "jobs", v.r.PathValue("id"), "assignments", v.r.PathValue("assignment"))
}

// endFields returns the fields of the actions that end a job: a note and a disposition.
func endFields(l *locale.Locale) []field {
	return []field{
		{Name: "note", Label: l.T("Note"), Type: "text", Help: l.T("Optional. Stored with the job.")},
		{Name: "disposition", Label: l.T("Disposition code"), Type: "text", Help: l.T("Optional.")},
	}
}

// endBody returns the body of such an action: the fields that were filled in.
func endBody(v *visit) map[string]any {
	body := map[string]any{}
	for name, form := range map[string]string{"note": "note", "dispositionCode": "disposition"} {
		if value := v.r.PostForm.Get(form); value != "" {
			body[name] = value
		}
	}
	return body
}
