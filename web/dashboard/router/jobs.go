package router

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
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// jobList is the data of the page of all jobs.
type jobList struct {
	Status, Queue string // filters; empty: none
	Statuses      []page.Option
	List          []routerJob
	Pager         page.Pager
}

// Filtered reports whether the list may omit jobs.
func (l *jobList) Filtered() bool { return l.Status != "" || l.Queue != "" || l.Pager.First != "" }

func loadJobs(v *page.Visit) (*page.Content, error) {
	asked := v.Request.URL.Query()
	l := &jobList{Statuses: jobStatuses(v.Locale), Queue: asked.Get("queue")}
	query := listQuery(v)
	// An unknown filter, as of an old bookmark, is ignored: the page shows which filters apply.
	if status := asked.Get("status"); slices.ContainsFunc(l.Statuses, func(o page.Option) bool { return o.Value == status }) {
		l.Status = status
		query.Set("status", status)
	}
	if l.Queue != "" {
		query.Set("queueId", l.Queue)
	}
	var err error
	l.List, l.Pager, err = listPage[routerJob](v, "jobs", query)
	return &page.Content{Title: v.T("Jobs of the router"), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Jobs")}), Data: l}, err
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

func readJob(c *page.Caller, id string) (j routerJob, err error) {
	j.Job, err = clientOf(c).Job(c.Context(), id)
	return j, err
}

// Reason returns why it waits; empty: it does not.
func (w *waiting) Reason(l *locale.Locale) template.HTML { return why.Clauses(l, w.WhyClauses, "") }

func jobLink(id string) string { return "/router/jobs/" + url.PathEscape(id) }

func jobCrumbs(l *locale.Locale, id string, more ...page.Crumb) []page.Crumb {
	return routerCrumbs(l, append([]page.Crumb{{Text: l.T("Jobs"), Link: "/router/jobs"}, {Text: id, Link: jobLink(id)}}, more...)...)
}

func loadJob(v *page.Visit) (*page.Content, error) {
	j, err := readJob(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := &jobData{routerJob: j}
	d.Assigned = slices.SortedFunc(maps.Values(j.Assignments), func(a, b router.Assignment) int {
		return cmp.Or(a.AssignedAt.Compare(b.AssignedAt), cmp.Compare(a.AssignmentID, b.AssignmentID))
	})
	if j.Status == resource.JobQueued {
		switch place, err := clientOf(v.Caller).Position(v.Request.Context(), j.ID); {
		case err == nil:
			d.Place = &place
		default:
			if status, _ := page.StatusOf(err); status != http.StatusNotFound {
				return nil, err // on 404 it has just left its queue
			}
		}
	}
	if d.Waiting, err = clientOf(v.Caller).Why(v.Request.Context(), j.ID); err != nil {
		return nil, err
	}
	d.Timeline = d.timeline(v)
	return &page.Content{Title: v.T("Job %s", j.ID), Crumbs: jobCrumbs(v.Locale, j.ID), Data: d}, nil
}

// timeline lists the events of a job.
func (d *jobData) timeline(v *page.Visit) []timelineEntry {
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

func askCancelJob(v *page.Visit) (*page.Question, error) {
	j, err := readJob(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	q := &page.Question{
		Title: v.T("Cancel job %s", j.ID), Button: v.T("Cancel job"), Danger: true, Back: jobLink(j.ID), Crumbs: jobCrumbs(v.Locale, j.ID, page.Crumb{Text: v.T("Cancel")}),
		Text:   v.T("This cannot be undone. Open offers are revoked, and the capacity of an assigned worker is released at once."),
		Facts:  []page.Fact{{Name: v.T("State"), Value: j.StatusText(v.Locale)}, {Name: v.T("Queue"), Value: cmp.Or(j.QueueID, v.T("none"))}},
		Fields: endFields(v.Locale),
	}
	if a := j.CurrentAssignment(); a != nil {
		q.Facts = append(q.Facts, page.Fact{Name: v.T("Worker"), Value: a.WorkerID})
	}
	return q, nil
}

func cancelJob(v *page.Visit) (*page.Done, error) {
	id := v.Request.PathValue("id")
	err := clientOf(v.Caller).Act(v.Request.Context(), "cancel", endBody(v), "jobs", id)
	return &page.Done{Text: v.T("Job %s is cancelled.", id), To: jobLink(id)}, err
}

// askAssignment returns the question about an action that ends an assignment, with the first fields
// of [endFields]. title names the job.
func askAssignment(fields int, button, title, text locale.Message) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		j, err := readJob(v.Caller, v.Request.PathValue("id"))
		if err != nil {
			return nil, err
		}
		a, ok := j.Assignments[v.Request.PathValue("assignment")]
		if !ok {
			// It may have ended since the page was made: reported now, and not after the
			// confirmation.
			return nil, &page.Problem{Status: http.StatusNotFound, Detail: v.T("assignment not found on this job")}
		}
		return &page.Question{
			Title: v.T(title, j.ID), Button: v.T(button), Text: v.T(text), Back: jobLink(j.ID), Crumbs: jobCrumbs(v.Locale, j.ID, page.Crumb{Text: v.T(button)}),
			Facts:  []page.Fact{{Name: v.T("State"), Value: j.StatusText(v.Locale)}, {Name: v.T("Worker"), Value: a.WorkerID}, {Name: v.T("Assigned for"), Value: v.Span(locale.Since(v.Now(), a.AssignedAt))}},
			Fields: endFields(v.Locale)[:fields],
		}, nil
	}
}

func endAssignment(step string, became locale.Message) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		id := v.Request.PathValue("id")
		return &page.Done{Text: v.T(became, id), To: jobLink(id)}, actOnAssignment(v, step, endBody(v))
	}
}

// actOnAssignment performs an action on the assignment that the path of a page names.
func actOnAssignment(v *page.Visit, action string, body any) error {
	return clientOf(v.Caller).Act(v.Request.Context(), action, body, "jobs", v.Request.PathValue("id"), "assignments", v.Request.PathValue("assignment"))
}

// endFields returns the fields of the actions that end a job: a note and a disposition.
func endFields(l *locale.Locale) []page.Field {
	return []page.Field{
		{Name: "note", Label: l.T("Note"), Type: "text", Help: l.T("Optional. Stored with the job.")},
		{Name: "disposition", Label: l.T("Disposition code"), Type: "text", Help: l.T("Optional.")},
	}
}

// endBody returns the body of such an action: the fields that were filled in.
func endBody(v *page.Visit) map[string]any {
	body := map[string]any{}
	for name, form := range map[string]string{"note": "note", "dispositionCode": "disposition"} {
		if value := v.Request.PostForm.Get(form); value != "" {
			body[name] = value
		}
	}
	return body
}
