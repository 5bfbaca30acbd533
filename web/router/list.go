package router

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/router"
	"weir/router/resource"
)

// maxExamined is the maximum number of resources examined for one page.
const maxExamined = 10_000

// pageView is a page of a list. The last page omits nextLink, because the client
// library fails on a null.
type pageView struct {
	Value    []any  `json:"value"`
	NextLink string `json:"nextLink,omitempty"`
}

// skipToken is the query parameter that holds the start of the next page.
const skipToken = "skipToken"

// parameters reads the query of a list and collects its mistakes.
type parameters struct {
	query    url.Values
	mistakes []weir.FieldError
}

// get returns a parameter; empty if it is absent. A repeated one is a mistake, because
// it would be unclear which value counts.
func (p *parameters) get(name string) string {
	v := p.query[name]
	if len(v) > 1 {
		p.add(name, "duplicate", "must be given once")
	}
	if len(v) == 0 {
		return ""
	}
	return v[0]
}

func (p *parameters) add(name, code, sentence string) {
	p.mistakes = append(p.mistakes, weir.FieldError{Pointer: name, Code: code, Detail: sentence})
}

// word returns a parameter with a fixed set of values.
func (p *parameters) word(name string, words ...string) string {
	v := p.get(name)
	if v != "" && !slices.Contains(words, v) {
		p.add(name, "unknown", "must be one of "+strings.Join(words, ", "))
	}
	return v
}

// date returns a parameter that is an instant; zero if it is absent.
func (p *parameters) date(name string) time.Time {
	v := p.get(name)
	if v == "" {
		return time.Time{}
	}
	at, code, detail := weir.ParseInstant(v)
	if code != "" {
		p.add(name, code, detail)
	}
	return at
}

// size returns the page size. A larger one than allowed is reduced and no mistake.
func (p *parameters) size() int {
	v := p.get("maxpagesize")
	if v == "" {
		return defaultPage
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 {
		p.add("maxpagesize", "range", "must be a whole number from 1")
		return 0
	}
	return int(min(n, maxPage))
}

// token decodes the skipToken: the last entry before the page, empty on the first
// page.
func (p *parameters) token() string {
	text, err := base64.RawURLEncoding.Strict().DecodeString(p.get(skipToken))
	if err != nil {
		p.add(skipToken, "format", "must come from a nextLink")
	}
	return string(text)
}

func (p *parameters) err() error { return invalidFor(p.mistakes) }

// links makes the links to the next page.
type links struct {
	publicURL string // of the server; may be empty
	prefix    string // of the paths
}

// next returns the absolute link to the page that follows after, with the host that
// the client used.
func (l links) next(c *call, after string) string {
	q := url.Values{}
	for name, v := range c.query {
		if name != skipToken && name != "api-version" {
			q[name] = v
		}
	}
	q.Set(skipToken, base64.RawURLEncoding.EncodeToString([]byte(after)))
	return l.origin(c.r) + l.prefix + c.r.URL.EscapedPath() + "?" + strings.ReplaceAll(q.Encode(), "+", "%20") + "&api-version=" + string(c.version)
}

// origin returns scheme and host of this server as the client sees them. Behind a
// proxy that terminates TLS, the scheme is that of X-Forwarded-Proto; otherwise
// that of publicURL if its host is the client's.
func (l links) origin(r *http.Request) string {
	scheme := "http"
	public, err := url.Parse(l.publicURL)
	switch forwarded := r.Header.Get("X-Forwarded-Proto"); {
	case r.TLS != nil || forwarded == "https":
		scheme = "https"
	case forwarded == "http":
	case err == nil && public.Scheme != "" && strings.EqualFold(public.Hostname(), (&url.URL{Host: r.Host}).Hostname()):
		scheme = public.Scheme
	}
	return scheme + "://" + r.Host
}

// lists serves the lists of resources.
type lists struct {
	engine router.Engine
	links  links
}

// byID returns the handler that lists a kind of resource by id.
func (s lists) byID(res resourceKind) endpoint {
	return func(c *call) (response, error) {
		return s.page(c, res, &parameters{query: c.query}, func(*router.State, string) bool { return true })
	}
}

// page returns a page of the resources that keep selects. It examines a limited
// number of resources, because it blocks the engine, and ends a page of large ones early:
// a page may be short and still have a next one.
func (s lists) page(c *call, res resourceKind, p *parameters, keep func(*router.State, string) bool) (response, error) {
	size, after := p.size(), p.token()
	if err := p.err(); err != nil {
		return response{}, err
	}
	page := pageView{Value: []any{}}
	err := s.engine.View(c.r.Context(), func(st *router.State, _ time.Time) {
		bytes := 0
		ids := st.IDs(res.kind, after, maxExamined+1)
		for i, id := range ids {
			if len(page.Value) == size || i == maxExamined || bytes >= router.PageSize {
				// The token is the last id that was examined: a resource that is created or
				// deleted meanwhile moves no other page.
				page.NextLink = s.links.next(c, ids[i-1])
				return
			}
			if keep(st, id) {
				x, _ := res.render(st, id, c.version)
				page.Value = append(page.Value, x.body)
				bytes += st.SizeOf(res.kind, id)
			}
		}
	})
	return response{status: http.StatusOK, body: page}, err
}

func (s lists) workers(c *call) (response, error) {
	p := &parameters{query: c.query}
	state := p.word("state", "all", string(resource.WorkerActive), string(resource.WorkerDraining), string(resource.WorkerInactive))
	channel, queue := p.get("channelId"), p.get("queueId")
	capacity := p.word("hasCapacity", "true", "false") == "true"
	keep := func(st *router.State, id string) bool {
		w, _ := st.Worker(id)
		return (state == "" || state == "all" || state == string(w.State)) &&
			(queue == "" || slices.Contains(w.Queues, queue)) &&
			(channel == "" || slices.ContainsFunc(w.Channels, func(c resource.Channel) bool { return c.ChannelID == channel })) &&
			(!capacity || st.HasRoom(id, channel))
	}
	return s.page(c, resourceKind{kind: resource.Worker, render: renderWorker}, p, keep)
}

// jobs returns jobs in the order of their creation. Its token is the cursor of
// the engine, so that new jobs do not move the pages.
func (s lists) jobs(c *call) (response, error) {
	p := &parameters{query: c.query}
	keep := jobFilter(p)
	size := p.size()
	token, after := p.token(), uint64(0)
	if token != "" {
		var err error
		if after, err = strconv.ParseUint(token, 36, 64); err != nil {
			p.add(skipToken, "format", "must come from a nextLink")
		}
	}
	if err := p.err(); err != nil {
		return response{}, err
	}
	page := pageView{Value: []any{}}
	err := s.engine.View(c.r.Context(), func(st *router.State, _ time.Time) {
		jobs, more := st.Jobs(after, size, keep)
		for i := range jobs {
			page.Value = append(page.Value, viewJob(&jobs[i]))
		}
		if more != 0 {
			page.NextLink = s.links.next(c, strconv.FormatUint(more, 36))
		}
	})
	return response{status: http.StatusOK, body: page}, err
}

// jobFilter reads the filters of the list of jobs. All of them must match.
func jobFilter(p *parameters) func(*router.Job) bool {
	status := p.word("status", "all", "active", string(resource.JobCreated), string(resource.JobPendingClassification),
		string(resource.JobPendingSchedule), string(resource.JobScheduled), string(resource.JobScheduleFailed),
		string(resource.JobWaitingForActivation), string(resource.JobQueued), string(resource.JobAssigned), string(resource.JobCompleted),
		string(resource.JobClosed), string(resource.JobCancelled), string(resource.JobClassificationFailed))
	queue, channel, policy := p.get("queueId"), p.get("channelId"), p.get("classificationPolicyId")
	// Both bounds are inclusive, as the published schema has it.
	before, after := p.date("scheduledBefore"), p.date("scheduledAfter")
	return func(j *router.Job) bool {
		switch status {
		case "", "all":
		case "active":
			if !j.Status.Active() {
				return false
			}
		default:
			if status != string(j.Status) {
				return false
			}
		}
		return (queue == "" || queue == j.QueueID) && (channel == "" || channel == j.ChannelID) &&
			(policy == "" || policy == j.ClassificationPolicyID) &&
			(before.IsZero() || !j.ScheduledAt.IsZero() && !j.ScheduledAt.After(before)) &&
			(after.IsZero() || !j.ScheduledAt.IsZero() && !j.ScheduledAt.Before(after))
	}
}

func renderWorker(s *router.State, id string, v version) (rendered, bool) {
	w, ok := s.Worker(id)
	if !ok {
		return rendered{}, false
	}
	return rendered{viewWorker(&w, v), w.Version, w.ChangedAt}, true
}

func renderJob(s *router.State, id string, _ version) (rendered, bool) {
	j, ok := s.Job(id)
	if !ok {
		return rendered{}, false
	}
	return rendered{viewJob(&j), j.Version, j.ChangedAt}, true
}
