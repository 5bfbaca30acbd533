package router

import (
	"net/http"
	"time"

	"weir/api"
	"weir/router"
	"weir/router/acd"
	"weir/router/resource"
)

// figuresView is an overview of the router for wallboards, an extension that
// Azure's API does not have. Its queues are paged; the other figures cover the
// whole router. A queue without recent assignments has no estimates here.
type figuresView struct {
	Jobs           map[resource.JobStatus]int   `json:"jobs"`    // by status; absent: none
	Workers        map[resource.WorkerState]int `json:"workers"` // by state; absent: none
	OffersOut      int                          `json:"offersOut"`
	OldestQueuedAt instant                      `json:"oldestQueuedAt,omitzero"` // of the waiting jobs
	Failing        []failingView                `json:"failingFunctions,omitempty"`
	Queues         []queueFiguresView           `json:"queues"`
	NextLink       string                       `json:"nextLink,omitempty"`
}

// failingView is a function or webhook of a policy whose last call failed.
type failingView struct {
	PolicyKind string  `json:"policyKind"` // distribution policy or classification policy
	PolicyID   string  `json:"policyId"`
	Host       string  `json:"host"`
	Since      instant `json:"since"`
	LastAt     instant `json:"lastAt"`
	Reason     string  `json:"reason"`
}

type queueFiguresView struct {
	router.Statistics
	Name   string `json:"name,omitzero"`
	Closed string `json:"closed,omitzero"`
}

// figures serves the overview of the router.
type figures struct {
	engine  router.Engine
	failing func() []router.FailingFunction // nil: none
	links   links
}

// get takes the counts and the queues from one snapshot of the router's state.
func (s figures) get(c *call) (response, error) {
	p := &parameters{query: c.query}
	size, after, only := p.size(), p.token(), p.get("queueId")
	if err := p.err(); err != nil {
		return response{}, err
	}
	out := figuresView{Queues: []queueFiguresView{}}
	err := s.engine.View(c.r.Context(), func(st *router.State, now time.Time) {
		f := st.Figures()
		out.Jobs, out.Workers, out.OffersOut, out.OldestQueuedAt = f.Jobs, f.Workers, f.Offers, instant(f.OldestQueuedAt)
		ids := []string{only}
		if only == "" {
			ids = st.IDs(resource.Queue, after, size+1)
		}
		if len(ids) > size {
			ids = ids[:size]
			out.NextLink = s.links.next(c, ids[size-1])
		}
		for _, id := range ids {
			q, ok := st.Queue(id)
			if !ok {
				continue
			}
			n, _ := st.Statistics(id, now)
			if !n.Paced {
				n.EstimatedWaitTimeMinutes = nil
			}
			out.Queues = append(out.Queues, queueFiguresView{n, q.Spec.Name, string(q.Spec.Closed)})
		}
	})
	if s.failing != nil {
		for _, f := range s.failing() {
			out.Failing = append(out.Failing, failingView{string(f.PolicyKind), f.Policy, f.Host, instant(f.Since), instant(f.LastAt), f.Reason})
		}
	}
	return response{status: http.StatusOK, body: out}, err
}

// lookups serves what follows from the state of a job or a queue.
type lookups struct{ engine router.Engine }

// lookup answers with what see returns. Without the resource that is a 404.
func (s lookups) lookup(c *call, kind resource.Kind, id string, see func(*router.State, time.Time) (any, bool)) (response, error) {
	out, found := response{status: http.StatusOK}, false
	err := s.engine.View(c.r.Context(), func(st *router.State, now time.Time) { out.body, found = see(st, now) })
	if err == nil && !found {
		err = noSuchResource(kind, id)
	}
	return out, err
}

// position reports where a waiting job is in its queue. A job that does not wait has
// no position: 404.
func (s lookups) position(c *call) (response, error) {
	return s.lookup(c, "queued job", c.ids[0], func(st *router.State, now time.Time) (any, bool) { return st.Position(c.ids[0], now) })
}

func (s lookups) statistics(c *call) (response, error) {
	return s.lookup(c, resource.Queue, c.ids[0], func(st *router.State, now time.Time) (any, bool) { return st.Statistics(c.ids[0], now) })
}

type whyView struct {
	JobID   string `json:"jobId"`
	Why     string `json:"why,omitempty"`
	WhyCode string `json:"whyCode,omitempty"`
	// WhyInstants are the instants in Why, in the order of the sentence.
	WhyInstants []time.Time `json:"whyInstants,omitempty"`
	// WhyClauses are the clauses of Why, for programs that show them in another language.
	WhyClauses []api.Clause `json:"whyClauses,omitempty"`

	// EstimatedWaitTimeMinutes is absent without recent assignments to base it on.
	EstimatedWaitTimeMinutes int `json:"estimatedWaitTimeMinutes,omitzero"`
}

// why reports why a job waits. It is a separate route, an extension of Weir, so
// that the job resource stays as clients expect it.
func (s lookups) why(c *call) (response, error) {
	return s.lookup(c, resource.Job, c.ids[0], func(st *router.State, now time.Time) (any, bool) {
		why, ok := st.Why(c.ids[0])
		out := whyView{JobID: c.ids[0], Why: why.Text(), WhyCode: string(why.Code), WhyInstants: why.Instants(), WhyClauses: why.Clauses}
		if p, queued := st.Position(c.ids[0], now); queued && p.Paced {
			out.EstimatedWaitTimeMinutes = p.EstimatedWaitTimeMinutes
		}
		return out, ok
	})
}

// poolView is a filter of available workers, an extension that Azure's router does
// not have. Depth is their number; Version counts how often it has changed.
type poolView struct {
	Etag      string         `json:"etag"`
	ID        string         `json:"id"`
	QueueID   string         `json:"queueId,omitzero"`
	ChannelID string         `json:"channelId"`
	Selectors []selectorView `json:"selectors"`
	Depth     int            `json:"depth"`
	Version   uint64         `json:"version"`
}

func renderPool(s *router.State, id string, _ version) (rendered, bool) {
	p, ok := s.Pool(id)
	if !ok {
		return rendered{}, false
	}
	d := s.PoolDepth(id)
	view := poolView{etag(p.Version), id, p.Spec.QueueID, p.Spec.ChannelID, viewSelectors(p.Spec.Selectors), d.Depth, d.Version}
	return rendered{view, p.Version, p.ChangedAt}, true
}

type readyListView struct {
	Depth int         `json:"depth"`
	Value []readyView `json:"value"`
}

type readyView struct {
	WorkerID       string  `json:"workerId"`
	AvailableSince instant `json:"availableSince"`
}

// ready lists the workers that match a job's requirements, the next one first:
// longest available first, or newest first if the queue's policy says so.
func (s lookups) ready(c *call) (response, error) {
	p := &parameters{query: c.query}
	spec := resource.PoolSpec{QueueID: p.get("queueId"), ChannelID: p.get("channelId")}
	if spec.ChannelID == "" {
		p.add("channelId", "required", "required")
	}
	if filter := p.get("filter"); filter != "" {
		var err error
		if spec.Selectors, err = acd.ParseFilter(filter); err != nil {
			p.add("filter", "format", "must be like Q#Spanish#M or Spanish,level>=3")
		}
	}
	size := p.size()
	if err := p.err(); err != nil {
		return response{}, err
	}
	return s.lookup(c, resource.Queue, spec.QueueID, func(st *router.State, _ time.Time) (any, bool) {
		q, known := st.Queue(spec.QueueID)
		d, _ := st.Distribution(q.Spec.DistributionPolicyID)
		all := st.AvailableWorkers(spec, d.Spec.Mode.Kind == resource.ShortestIdle)
		out := readyListView{Depth: len(all), Value: []readyView{}}
		for _, w := range all[:min(size, len(all))] {
			out.Value = append(out.Value, readyView{w.WorkerID, instant(w.Since)})
		}
		return out, known
	})
}

type unmatchableView struct {
	QueueID string   `json:"queueId"`
	Value   []string `json:"value"` // job ids
}

// unmatchable lists the waiting jobs of a queue that no worker could take even if
// all workers were registered and free.
func (s lookups) unmatchable(c *call) (response, error) {
	p := &parameters{query: c.query}
	size := p.size()
	if err := p.err(); err != nil {
		return response{}, err
	}
	return s.lookup(c, resource.Queue, c.ids[0], func(st *router.State, _ time.Time) (any, bool) {
		_, known := st.Queue(c.ids[0])
		return unmatchableView{c.ids[0], append([]string{}, st.Unmatchable(c.ids[0], size)...)}, known
	})
}
