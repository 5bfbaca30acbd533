package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir"
)

// mostSearched is the longest queue that is searched for unmatchable jobs, because
// the search blocks all users of the router.
const mostSearched = 5000

// happening is an event in the life of a job or a worker.
type happening struct {
	At         time.Time
	What       string
	Link, Text string // what it refers to; empty: nothing
}

// inOrder sorts happenings by time and removes those without a time.
func inOrder(list []happening) []happening {
	list = slices.DeleteFunc(list, func(h happening) bool { return h.At.IsZero() })
	slices.SortStableFunc(list, func(a, b happening) int { return a.At.Compare(b.At) })
	return list
}

func routerWorkerPage() *page {
	const one = "/router/workers/{id}"
	return &page{
		name: "router_worker", path: one, scopes: routerUsers(), load: loadWorker, live: []string{"worker"},
		actions: []action{
			{path: one + "/on", scopes: routerUsers(), ask: askAvailable(true), do: setAvailable(true)},
			{path: one + "/off", scopes: routerUsers(), ask: askAvailable(false), do: setAvailable(false)},
		},
	}
}

// workerData is the data of a worker's page.
type workerData struct {
	routerWorker
	Timeline []happening
}

func (v *visit) worker() (w routerWorker, err error) {
	err = v.askRouter(routerPath("workers", v.r.PathValue("id")), nil, &w)
	return w, err
}

func workerCrumbs(id string, more ...crumb) []crumb {
	own := crumb{Text: id}
	if len(more) > 0 {
		own.Link = workerLink(id)
	}
	return routerCrumbs(append([]crumb{{Text: "Workers", Link: "/router/workers"}, own}, more...)...)
}

func workerLink(id string) string { return "/router/workers/" + url.PathEscape(id) }

func loadWorker(v *visit) (*content, error) {
	w, err := v.worker()
	if err != nil {
		return nil, err
	}
	d := &workerData{routerWorker: w}
	if d.Timeline, err = v.pastOf(w.ID); err != nil {
		return nil, err
	}
	var now []happening
	for _, o := range w.Offers {
		link := v.Link("/router/jobs", o.JobID)
		now = append(now, happening{o.OfferedAt, "was offered job", link, o.JobID}, happening{o.ExpiresAt, "the offer expires, of job", link, o.JobID})
	}
	for _, a := range w.AssignedJobs {
		now = append(now, happening{a.AssignedAt, "accepted job", v.Link("/router/jobs", a.JobID), a.JobID})
	}
	d.Timeline = inOrder(append(d.Timeline, missing(now, d.Timeline)...))
	return &content{title: "Worker " + w.ID, crumbs: workerCrumbs(w.ID), data: d}, nil
}

func askAvailable(on bool) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		w, err := v.worker()
		if err != nil {
			return nil, err
		}
		q := &question{
			title: "Give no offers to " + w.ID, Button: "Give no offers", back: workerLink(w.ID),
			Text:  "The worker gets no new offers. Offers that are out are taken back; what is assigned stays, and is to be ended.",
			Facts: []fact{{"Offers out", number(len(w.Offers))}, {"Assigned jobs", number(len(w.AssignedJobs))}},
		}
		if on {
			q.title, q.Button, q.Text = "Make "+w.ID+" available", "Make available", "The worker gets offers of jobs that wait in its queues, as far as there is room."
		}
		q.crumbs = workerCrumbs(w.ID, crumb{Text: q.Button})
		return q, nil
	}
}

func setAvailable(on bool) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		id := v.r.PathValue("id")
		word := "gets no more offers"
		if on {
			word = "is available"
		}
		err := v.tellRouter(http.MethodPatch, routerPath("workers", id), nil, map[string]any{"availableForOffers": on}, nil)
		return &done{text: "Worker " + id + " " + word + ".", to: workerLink(id)}, err
	}
}

func routerQueuePage() *page {
	return &page{name: "router_queue", path: "/router/queues/{id}", scopes: routerUsers(), load: loadQueue, live: []string{"queue"}}
}

// queueData is the data of a queue's page.
type queueData struct {
	routerQueue
	Figures     queueFigures
	Jobs        []routerJob // waiting jobs
	Workers     []routerWorker
	Unmatchable []string // ids of jobs that no worker could take
	Unsearched  bool     // the queue is too long to search for unmatchable jobs
}

func loadQueue(v *visit) (*content, error) {
	id := v.r.PathValue("id")
	d := &queueData{}
	if err := v.askRouter(routerPath("queues", id), nil, &d.routerQueue); err != nil {
		return nil, err
	}
	if err := v.askRouter(routerPath("queues", id)+"/statistics", nil, &d.Figures); err != nil {
		return nil, err
	}
	if d.Unsearched = d.Figures.Length > mostSearched; !d.Unsearched {
		var nobody routerList[string]
		if err := v.askRouter(routerPath("queues", id)+"/unmatchable", url.Values{"maxpagesize": {strconv.Itoa(mostListed)}}, &nobody); err != nil {
			return nil, err
		}
		d.Unmatchable = nobody.Value
	}
	var err error
	if d.Jobs, err = some[routerJob](v, "/routing/jobs", url.Values{"queueId": {id}, "status": {"queued"}}); err != nil {
		return nil, err
	}
	if d.Workers, err = some[routerWorker](v, "/routing/workers", url.Values{"queueId": {id}}); err != nil {
		return nil, err
	}
	return &content{title: "Queue " + id, crumbs: routerCrumbs(crumb{Text: "Queues", Link: "/router/queues"}, crumb{Text: id}), data: d}, nil
}

// noteField returns the field for the note of an action.
func noteField() field {
	return field{Name: "note", Label: "Note", Type: "text", Help: "Optional. It stays with the job."}
}

// noted returns the body of an action with an optional note.
func noted(v *visit, more map[string]string) map[string]any {
	body := map[string]any{}
	if note := v.r.PostForm.Get("note"); note != "" {
		body["note"] = note
	}
	for name, form := range more {
		if value := v.r.PostForm.Get(form); value != "" {
			body[name] = value
		}
	}
	return body
}

func notFoundHere(what string) error {
	return &problem{Status: http.StatusNotFound, Code: weir.CodeNotFound, Detail: what}
}
