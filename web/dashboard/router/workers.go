package router

import (
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/api"
	"weir/router"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// workerList is the data of the page of all workers.
type workerList struct {
	State, Queue string // filters; empty: none
	States       []string
	List         []router.Worker
	Pager        page.Pager
}

// Filtered reports whether the list may omit workers.
func (l *workerList) Filtered() bool { return l.State != "" || l.Queue != "" || l.Pager.First != "" }

func loadWorkers(v *page.Visit) (*page.Content, error) {
	asked := v.Request.URL.Query()
	l := &workerList{States: []string{"active", "draining", "inactive"}, Queue: asked.Get("queue")}
	query := listQuery(v)
	l.State = page.Choose(v, query, "state", l.States)
	if l.Queue != "" {
		query.Set("queueId", l.Queue)
	}
	var err error
	l.List, l.Pager, err = listPage[router.Worker](v, "workers", query)
	return &page.Content{Title: v.T("Workers of the router"), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Workers")}), Data: l}, err
}

// workerData is the data of a worker's page.
type workerData struct {
	router.Worker
	Timeline []timelineEntry
}

func readWorker(c *page.Caller, id string) (router.Worker, error) {
	return clientOf(c).Worker(c.Context(), id)
}

func workerCrumbs(l *locale.Locale, id string, more ...page.Crumb) []page.Crumb {
	return routerCrumbs(l, append([]page.Crumb{{Text: l.T("Workers"), Link: "/router/workers"}, {Text: id, Link: workerLink(id)}}, more...)...)
}

func workerLink(id string) string { return "/router/workers/" + url.PathEscape(id) }

func (p *workerHistories) loadWorker(v *page.Visit) (*page.Content, error) {
	w, err := readWorker(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := &workerData{Worker: w}
	if d.Timeline, err = workerTimeline(v.Caller, p, func(id string) string { return v.Link("/router/jobs", id) }, w.ID); err != nil {
		return nil, err
	}
	var now []timelineEntry
	for _, o := range w.Offers {
		link := v.Link("/router/jobs", o.JobID)
		now = append(now, timelineEntry{o.OfferedAt, "was offered job %s", link, o.JobID}, timelineEntry{o.ExpiresAt, "the offer expires for job %s", link, o.JobID})
	}
	for _, a := range w.AssignedJobs {
		now = append(now, timelineEntry{a.AssignedAt, "accepted job %s", v.Link("/router/jobs", a.JobID), a.JobID})
	}
	d.Timeline = sortTimeline(append(d.Timeline, withoutMatches(now, d.Timeline)...))
	return &page.Content{Title: v.T("Worker %s", w.ID), Crumbs: workerCrumbs(v.Locale, w.ID), Data: d}, nil
}

func askAvailable(on bool) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		w, err := readWorker(v.Caller, v.Request.PathValue("id"))
		if err != nil {
			return nil, err
		}
		q := &page.Question{
			Title: v.T("Stop offers to %s", w.ID), Button: v.T("Stop offers"), Back: workerLink(w.ID),
			Text:  v.T("The worker gets no new offers. Open offers are revoked; assigned jobs stay until they are closed."),
			Facts: []page.Fact{{Name: v.T("Open offers"), Value: v.Number(len(w.Offers))}, {Name: v.T("Assigned jobs"), Value: v.Number(len(w.AssignedJobs))}},
		}
		if on {
			q.Title, q.Button, q.Text = v.T("Make %s available", w.ID), v.T("Make available"), v.T("The worker is offered waiting jobs of its queues, up to its capacity.")
		}
		q.Crumbs = workerCrumbs(v.Locale, w.ID, page.Crumb{Text: q.Button})
		return q, nil
	}
}

func setAvailable(on bool) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		id := v.Request.PathValue("id")
		text := v.T("Worker %s no longer gets offers.", id)
		if on {
			text = v.T("Worker %s is available.", id)
		}
		_, err := readWorker(v.Caller, id) // a PATCH would create a missing one
		if err == nil {
			err = clientOf(v.Caller).Patch(v.Request.Context(), "workers", id, map[string]any{"availableForOffers": on})
		}
		return &page.Done{Text: text, To: workerLink(id)}, err
	}
}

// Limits of the history of workers.
const (
	// eventTail is how many of the latest events are read at first. When more
	// entries than that were read, the cache starts over.
	eventTail = 20_000
	// maxPerWorker is how many entries are kept per worker.
	maxPerWorker = 100
)

const routerPrefix = "Microsoft.Communication."

// workerWords maps the types of events about workers to the words displayed, with the job.
func workerWords() map[string]locale.Message {
	return map[string]locale.Message{
		"RouterWorkerOfferIssued": "was offered job %s", "RouterWorkerOfferAccepted": "accepted job %s", "RouterWorkerOfferDeclined": "declined job %s",
		"RouterWorkerOfferRevoked": "lost the offer of job %s", "RouterWorkerOfferExpired": "did not answer the offer of job %s",
		"RouterJobUnassigned": "was unassigned from job %s", "RouterJobCompleted": "completed job %s", "RouterJobClosed": "closed job %s",
	}
}

// workerHistories caches the event log's entries of workers, by the rights of the reader.
// Each read adds the events since the last one.
type workerHistories struct {
	mu sync.Mutex
	by map[string]*workerHistory
}

type workerHistory struct {
	mu      sync.Mutex
	after   string // id of the last event read; empty: none yet
	workers map[string][]timelineEntry
	count   int
}

func (p *workerHistories) forRights(rights string) *workerHistory {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Starting over is enough: few tokens differ in their rights.
	if p.by == nil || len(p.by) >= page.MaxCached {
		p.by = map[string]*workerHistory{}
	}
	if p.by[rights] == nil {
		p.by[rights] = &workerHistory{}
	}
	return p.by[rights]
}

// workerTimeline lists what a worker did, oldest first.
func workerTimeline(c *page.Caller, known *workerHistories, jobLink func(id string) string, worker string) (list []timelineEntry, err error) {
	err = withHistory(c, known, jobLink, func(p *workerHistory) { list = slices.Clone(p.workers[worker]) })
	return list, err
}

// lastOfWorkers returns what each worker did last.
func lastOfWorkers(c *page.Caller, known *workerHistories, jobLink func(id string) string) (map[string]timelineEntry, error) {
	last := map[string]timelineEntry{}
	err := withHistory(c, known, jobLink, func(p *workerHistory) {
		for id, list := range p.workers {
			last[id] = list[len(list)-1]
		}
	})
	return last, err
}

// withHistory passes the history, after it has been brought up to date.
func withHistory(c *page.Caller, known *workerHistories, jobLink func(id string) string, use func(*workerHistory)) error {
	// Locked while the events are read: other visits wait for them instead of reading them, too.
	p := known.forRights(c.RightsKey())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count > eventTail {
		p.after, p.workers, p.count = "", nil, 0
	}
	if err := readWorkerEvents(c, p, jobLink); err != nil {
		return err
	}
	use(p)
	return nil
}

// readWorkerEvents adds the events since the last read.
func readWorkerEvents(c *page.Caller, p *workerHistory, jobLink func(id string) string) error {
	words := workerWords()
	var types []string
	for name := range words {
		types = append(types, routerPrefix+name)
	}
	slices.Sort(types)
	query := url.Values{"type": {strings.Join(types, ",")}, "source": {"router"}, "limit": {"1000"}}
	if p.after == "" {
		query.Set("tail", strconv.Itoa(eventTail))
	} else {
		query.Set("after", p.after)
	}
	for {
		var events api.EventList
		if err := c.Get("/v1/events", query, &events); err != nil {
			return err
		}
		for i := range events.Events {
			e := &events.Events[i]
			data, _ := e.Data.(map[string]any)
			worker, _ := data["workerId"].(string)
			job, _ := data["jobId"].(string)
			p.add(worker, timelineEntry{e.At, words[strings.TrimPrefix(e.Type, routerPrefix)], jobLink(job), job})
			p.after = e.ID
		}
		if events.NextCursor == "" {
			return nil
		}
		p.after = events.NextCursor
		query.Del("tail")
		query.Set("cursor", events.NextCursor)
	}
}

func (p *workerHistory) add(worker string, h timelineEntry) {
	if p.workers == nil {
		p.workers = map[string][]timelineEntry{}
	}
	list := append(p.workers[worker], h)
	p.workers[worker] = list[max(0, len(list)-maxPerWorker):]
	p.count++
}

// withoutMatches returns the entries of list that have no match in others. Two match if
// they have the same job and are less than a second apart.
func withoutMatches(list, others []timelineEntry) []timelineEntry {
	return slices.DeleteFunc(list, func(h timelineEntry) bool {
		return slices.ContainsFunc(others, func(o timelineEntry) bool { return o.Text == h.Text && o.At.Sub(h.At).Abs() < time.Second })
	})
}

// timelineEntry is an event in the life of a job or a worker.
type timelineEntry struct {
	At         time.Time
	What       locale.Message // names Text, if there is one
	Link, Text string         // what it refers to; empty: nothing
}

// HTML describes the event. The link has the id.
func (e timelineEntry) HTML(l *locale.Locale, id string) template.HTML {
	switch {
	case e.Link != "":
		escaped := template.HTMLEscapeString
		return l.HTML(e.What, template.HTML(`<a id="`+escaped(id)+`" href="`+escaped(e.Link)+`">`+escaped(e.Text)+`</a>`)) //nolint:gosec // its parts are escaped
	case e.Text != "":
		return l.HTML(e.What, e.Text)
	}
	return l.HTML(e.What)
}

// sortTimeline sorts entries by time and removes those without a time.
func sortTimeline(list []timelineEntry) []timelineEntry {
	list = slices.DeleteFunc(list, func(h timelineEntry) bool { return h.At.IsZero() })
	slices.SortStableFunc(list, func(a, b timelineEntry) int { return a.At.Compare(b.At) })
	return list
}
