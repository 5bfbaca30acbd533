package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/web"
)

// Limits of the history of workers.
const (
	// historyTail is how many of the latest events are read at first. When more
	// happenings than that were read, the cache starts over.
	historyTail = 20_000
	// maxPerWorker is how many happenings are kept per worker.
	maxPerWorker = 100
)

const routerPrefix = "Microsoft.Communication."

// workerWords maps the types of events about workers to the words displayed.
func workerWords() map[string]string {
	return map[string]string{
		"RouterWorkerOfferIssued": "was offered job", "RouterWorkerOfferAccepted": "accepted job", "RouterWorkerOfferDeclined": "declined job",
		"RouterWorkerOfferRevoked": "lost the offer of job", "RouterWorkerOfferExpired": "let the offer expire of job",
		"RouterJobUnassigned": "was unassigned from job", "RouterJobCompleted": "completed job", "RouterJobClosed": "closed job",
	}
}

// pasts caches the event log's happenings of workers, by the rights of the reader.
// Each read adds the events since the last one.
type pasts struct {
	mu sync.Mutex
	by map[string]*past
}

type past struct {
	mu      sync.Mutex
	after   string // id of the last event read; empty: none yet
	workers map[string][]happening
	count   int
}

func (p *pasts) of(rights string) *past {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil || len(p.by) >= mostShared {
		p.by = map[string]*past{}
	}
	if p.by[rights] == nil {
		p.by[rights] = &past{}
	}
	return p.by[rights]
}

// pastOf lists what a worker did, oldest first.
func (v *visit) pastOf(worker string) ([]happening, error) {
	p := v.d.pasts.of(v.rights())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count > historyTail {
		p.after, p.workers, p.count = "", nil, 0
	}
	if err := v.readPast(p); err != nil {
		return nil, err
	}
	return slices.Clone(p.workers[worker]), nil
}

// readPast adds the events since the last read.
func (v *visit) readPast(p *past) error {
	words := workerWords()
	var types []string
	for name := range words {
		types = append(types, routerPrefix+name)
	}
	slices.Sort(types)
	query := url.Values{"type": {strings.Join(types, ",")}, "source": {"router"}, "limit": {"1000"}}
	if p.after == "" {
		query.Set("tail", strconv.Itoa(historyTail))
	} else {
		query.Set("after", p.after)
	}
	for {
		var page web.EventList
		if err := v.get("/v1/events", query, &page); err != nil {
			return err
		}
		for i := range page.Events {
			e := &page.Events[i]
			data, _ := e.Data.(map[string]any)
			worker, _ := data["workerId"].(string)
			job, _ := data["jobId"].(string)
			p.add(worker, happening{e.At, words[strings.TrimPrefix(e.Type, routerPrefix)], v.Link("/router/jobs", job), job})
			p.after = e.ID
		}
		if page.NextCursor == "" {
			return nil
		}
		p.after = page.NextCursor
		query.Del("tail")
		query.Set("cursor", page.NextCursor)
	}
}

func (p *past) add(worker string, h happening) {
	if p.workers == nil {
		p.workers = map[string][]happening{}
	}
	list := append(p.workers[worker], h)
	p.workers[worker] = list[max(0, len(list)-maxPerWorker):]
	p.count++
}

// missing returns the happenings of list that have no match in others. Two match if
// they have the same job and are less than a second apart.
func missing(list, others []happening) []happening {
	return slices.DeleteFunc(list, func(h happening) bool {
		return slices.ContainsFunc(others, func(o happening) bool { return o.Text == h.Text && o.At.Sub(h.At).Abs() < time.Second })
	})
}
