package router

import (
	"maps"
	"slices"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

func (c PutWorker) decide(ds *decisions) error {
	var last stamp
	if w := ds.view.workers[c.ID]; w != nil {
		last = w.stamp
	}
	if err := c.If.check(last.Version, last.ChangedAt); err != nil {
		return err
	}
	spec := c.Spec
	if err := spec.Validate(c.ID, ds.view.known); err != nil {
		return err
	}
	// The API gives each worker and queue this label, so that selectors can name one.
	spec.Labels = spec.Labels.With("Id", label.Text(c.ID))
	if err := ds.view.admit(sizeOfWorker(spec) - ds.view.SizeOf(resource.Worker, c.ID)); err != nil {
		return err
	}
	ds.putWorker(c.ID, spec)
	return nil
}

func (ds *decisions) putWorker(id string, spec resource.WorkerSpec) {
	w := ds.view.workers[id]
	var changed []string
	if w == nil {
		ds.emit(&journal.WorkerPutEvent{WorkerID: id, Spec: spec})
		w = ds.view.workers[id]
	} else {
		if changed = differences(&w.WorkerSpec, &spec); len(changed) == 0 {
			return
		}
		// Before the change, so that offers never exceed the capacity that the worker has.
		ds.revokeUnqualified(w, &spec)
		ds.emit(&journal.WorkerPutEvent{WorkerID: id, Spec: spec})
	}
	switch {
	// Also a draining worker becomes active again, with the jobs that it still has.
	case spec.AvailableForOffers && w.State != resource.WorkerActive:
		ds.emit(&journal.WorkerRegisteredEvent{WorkerID: id, WorkerInfo: ds.view.workerInfo(w)})
	case !spec.AvailableForOffers && w.State == resource.WorkerActive:
		ds.deregister(w)
	case len(changed) > 0:
		ds.emit(&journal.WorkerUpdatedEvent{WorkerID: id, WorkerInfo: ds.view.workerInfo(w), Updated: changed})
	}
}

// differences returns the names of the properties that differ, as they appear
// in the event.
func differences(a, b *resource.WorkerSpec) (out []string) {
	add := func(name string, same bool) {
		if !same {
			out = append(out, name)
		}
	}
	add("AvailableForOffers", a.AvailableForOffers == b.AvailableForOffers)
	add("TotalCapacity", a.Capacity == b.Capacity)
	add("QueueAssignments", slices.Equal(a.Queues, b.Queues))
	add("Labels", a.Labels.Equal(b.Labels))
	add("Tags", a.Tags.Equal(b.Tags))
	add("ChannelConfigurations", slices.Equal(a.Channels, b.Channels))
	add("MaxConcurrentOffers", a.MaxConcurrentOffers == b.MaxConcurrentOffers)
	return out
}

// revokeUnqualified revokes, newest first, the offers that the worker would not
// qualify for after the update.
func (ds *decisions) revokeUnqualified(w *worker, spec *resource.WorkerSpec) {
	if !spec.AvailableForOffers {
		return // deregistering revokes them all
	}
	after := worker{}
	after.WorkerSpec, after.position = *spec, -1
	// Assignments stay, even if a lower capacity no longer covers them; only offers are revoked.
	after.assignedCost = w.assignedCost
	after.assigned = w.assigned
	after.rebuildChannels()
	for _, o := range slices.Clone(w.offers) {
		if after.admits(o) {
			after.offers = append(after.offers, o)
			after.offeredCost += o.Cost
			after.addJobs(o.job.ChannelID, 1)
			continue
		}
		ds.revoke(o, false)
	}
}

// admits reports whether an open offer fits beside what the worker already has.
func (w *worker) admits(o *offer) bool {
	c := w.channel(o.job.ChannelID)
	return c != nil && slices.Contains(w.Queues, o.job.QueueID) &&
		o.Cost <= w.Capacity-w.assignedCost-w.offeredCost && (c.MaxNumberOfJobs == 0 || c.jobs < c.MaxNumberOfJobs)
}

// deregister revokes a worker's offers and makes it draining or inactive.
func (ds *decisions) deregister(w *worker) {
	// Deregistering twice is no error and no event: an offer that expires deregisters, too.
	if w.State != resource.WorkerActive {
		return
	}
	ds.revokeAll(w.offers, false)
	ds.emit(&journal.WorkerDeregisteredEvent{WorkerID: w.ID})
}

// revokeAll revokes offers. The list may be that of a job or worker, which shrinks
// meanwhile.
func (ds *decisions) revokeAll(list []*offer, taken bool) {
	for _, o := range slices.Clone(list) {
		ds.revoke(o, taken)
	}
}

func (ds *decisions) revoke(o *offer, taken bool) {
	ds.emit(&journal.OfferRevokedEvent{OfferHead: ds.view.offerHead(o.job, o.worker, o.ID), Taken: taken})
}

func (c DeleteWorker) decide(ds *decisions) error {
	w := ds.view.workers[c.ID]
	if w == nil {
		return notFound("worker", c.ID)
	}
	if len(w.assigned) > 0 {
		return conflict("worker %q has jobs", c.ID)
	}
	ds.revokeAll(w.offers, false)
	ds.emit(&journal.WorkerDeletedEvent{WorkerID: c.ID, WorkerInfo: ds.view.workerInfo(w)})
	return nil
}

func (c SetAvailable) decide(ds *decisions) error {
	ids := c.Workers
	for _, id := range ids {
		if ds.view.workers[id] == nil {
			return notFound("worker", id)
		}
	}
	if len(ids) == 0 {
		ids = slices.Sorted(maps.Keys(ds.view.workers))
	}
	for _, id := range ids {
		w := ds.view.workers[id]
		if c.Available && len(c.Workers) == 0 && len(w.assigned) > 0 {
			continue
		}
		spec := w.WorkerSpec
		spec.AvailableForOffers = c.Available
		ds.putWorker(id, spec)
	}
	return nil
}
