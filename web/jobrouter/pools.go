package jobrouter

import (
	"math"
	"net/http"
	"time"

	"weir/routing"
	"weir/routing/acd"
	"weir/routing/resource"
)

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

func seePool(s *routing.State, id string, _ version) (seen, bool) {
	p, ok := s.Pool(id)
	if !ok {
		return seen{}, false
	}
	d := s.PoolDepth(id)
	view := poolView{etag(p.Version), id, p.Spec.QueueID, p.Spec.ChannelID, viewSelectors(p.Spec.Selectors), d.Depth, d.Version}
	return seen{view, p.Version, p.ChangedAt}, true
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
func (s *service) ready(c *call) (answer, error) {
	p := &parameters{query: c.query}
	spec := resource.PoolSpec{QueueID: p.get("queueId"), ChannelID: p.get("channelId")}
	if spec.ChannelID == "" {
		p.wrong("channelId", "required", "it has to be there")
	}
	if filter := p.get("filter"); filter != "" {
		var err error
		if spec.Selectors, err = acd.ParseFilter(filter); err != nil {
			p.wrong("filter", "format", "it has to be like Q#Spanish#M or Spanish,level>=3")
		}
	}
	size := p.size(s.Limits)
	if err := p.err(); err != nil {
		return answer{}, err
	}
	out := readyListView{Value: []readyView{}}
	known := false
	err := s.Engine.View(c.r.Context(), func(st *routing.State, _ time.Time) {
		var q routing.Named[resource.QueueSpec]
		q, known = st.Queue(spec.QueueID)
		d, _ := st.Distribution(q.Spec.DistributionPolicyID)
		all := st.Ready(spec, d.Spec.Mode.Kind == resource.ShortestIdle, math.MaxInt)
		out.Depth = len(all)
		for _, w := range all[:min(size, len(all))] {
			out.Value = append(out.Value, readyView{w.WorkerID, instant(w.Since)})
		}
	})
	if err == nil && !known {
		err = missing(resource.Queue, spec.QueueID)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: out}, nil
}

type unmatchableView struct {
	QueueID string   `json:"queueId"`
	Value   []string `json:"value"` // job ids
}

// unmatchable lists the waiting jobs of a queue that no worker could take even if
// all workers were registered and free.
func (s *service) unmatchable(c *call) (answer, error) {
	p := &parameters{query: c.query}
	size := p.size(s.Limits)
	if err := p.err(); err != nil {
		return answer{}, err
	}
	out := unmatchableView{QueueID: c.ids[0], Value: []string{}}
	known := false
	err := s.Engine.View(c.r.Context(), func(st *routing.State, _ time.Time) {
		_, known = st.Queue(c.ids[0])
		out.Value = append(out.Value, st.Unmatchable(c.ids[0], size)...)
	})
	if err == nil && !known {
		err = missing(resource.Queue, c.ids[0])
	}
	return answer{status: http.StatusOK, body: out}, err
}
