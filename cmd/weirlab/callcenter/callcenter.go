// Package callcenter plays a small contact center through on the router's engine, in
// simulated time: no I/O, no clock, and randomness only from a seed, so that the same
// simulation always gives the same results.
package callcenter

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"weir/router"
	"weir/router/acd"
	"weir/router/label"
	"weir/router/resource"
)

// Simulation is a simulated contact center: agents with one language and one
// expertise each, and contacts that require one of both, arrive at even
// intervals and stay for a while. A contact without an agent by its end has
// abandoned. Zero fields take the values of the published simulation, whose
// shape this one has.
type Simulation struct {
	Agents   int           // 0: 40
	Contacts int           // 0: 100
	Seed     uint64        // of all random choices
	Every    time.Duration // interval between contacts; 0: half a second
	Shortest time.Duration // minimum life of a contact; 0: a second
	Longest  time.Duration // maximum life of a contact; 0: three seconds
}

// Results are the results of a simulation.
type Results struct {
	Agents      int           `json:"agents"`
	Contacts    int           `json:"contacts"`
	Assigned    int           `json:"assigned"`
	Abandoned   int           `json:"abandoned"`
	Available   int           `json:"available_at_end"`
	Queued      int           `json:"queued_at_end"`
	LongestWait time.Duration `json:"longest_wait_ns"` // of the contacts that got an agent
	Lasted      time.Duration `json:"lasted_ns"`       // simulated time
	Events      int           `json:"events"`
}

// contact is one contact of the simulation.
type contact struct {
	id     string
	skills []resource.WorkerSelector
}

// simulation is a running simulation with a clock of its own.
type simulation struct {
	state   *router.State
	start   time.Time
	results Results
	err     error
}

// Run runs the simulation. The same simulation gives the same results.
func (o Simulation) Run() (Results, error) {
	o = o.withDefaults()
	chance := rand.New(rand.NewPCG(o.Seed, 1))
	c := &simulation{state: router.New(router.DefaultSettings()), start: time.Unix(0, 0).UTC()}
	c.results.Agents, c.results.Contacts = o.Agents, o.Contacts
	c.setUp(o.Agents, chance)
	for _, h := range o.steps(chance) {
		if h.ends {
			c.endContact(h.contact, h.at)
		} else {
			c.do(h.at, router.PutJob{ID: h.id, Spec: resource.JobSpec{ChannelID: acd.Channel, QueueID: acd.Callers, RequestedWorkerSelectors: h.skills}})
		}
		c.results.Lasted = h.at
	}
	return c.end()
}

func (o Simulation) withDefaults() Simulation {
	o.Agents, o.Contacts = cmp.Or(o.Agents, 40), cmp.Or(o.Contacts, 100)
	o.Every, o.Shortest, o.Longest = cmp.Or(o.Every, time.Second/2), cmp.Or(o.Shortest, time.Second), cmp.Or(o.Longest, 3*time.Second)
	o.Longest = max(o.Shortest, o.Longest)
	return o
}

func draw(chance *rand.Rand) (language, expertise string) {
	l, e := []string{"English", "Spanish"}, []string{"Support", "Disputes", "Billing"}
	return l[chance.IntN(len(l))], e[chance.IntN(len(e))]
}

// setUp sets the center up while it is closed, and then opens it.
func (c *simulation) setUp(agents int, chance *rand.Rand) {
	spec := acd.Setup().Queues[acd.Callers]
	spec.Closed = resource.ClosedHold
	for id, p := range acd.Setup().Distribution {
		c.do(0, router.PutDistribution{ID: id, Spec: p})
	}
	c.do(0, router.PutQueue{ID: acd.Callers, Spec: spec})
	for i := range agents {
		language, expertise := draw(chance)
		a := acd.Agent(fmt.Sprint("Agent ", i), "?", language, expertise)
		a.Queues, a.AvailableForOffers = []string{acd.Callers}, false
		c.do(0, router.PutWorker{ID: fmt.Sprintf("agent:%d", i), Spec: a})
	}
	c.do(0, router.SetAvailable{Available: true})
	spec.Closed = resource.Open
	c.do(0, router.PutQueue{ID: acd.Callers, Spec: spec})
}

// step is the arrival or the departure of a contact.
type step struct {
	contact
	at   time.Duration
	ends bool
}

func (o Simulation) steps(chance *rand.Rand) []step {
	var out []step
	for i := range o.Contacts {
		language, expertise := draw(chance)
		k := contact{id: fmt.Sprintf("contact:%d", i)}
		at := time.Duration(i) * o.Every
		until := at + o.Shortest + time.Duration(chance.Int64N(int64(o.Longest-o.Shortest)+1))
		for _, s := range []string{language, expertise} {
			k.skills = append(k.skills, resource.WorkerSelector{Key: s, Operator: label.Equal, Value: label.Bool(true)})
		}
		out = append(out, step{k, at, false}, step{k, until, true})
	}
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return out
}

// endContact ends a contact: its agent becomes free, or the contact has abandoned.
func (c *simulation) endContact(k contact, at time.Duration) {
	j, _ := c.state.Job(k.id)
	if j.Status != resource.JobAssigned {
		c.results.Abandoned++
		c.do(at, router.CancelJob{ID: k.id, DispositionCode: "Abandoned"})
		return
	}
	c.results.Assigned++
	for id, a := range j.Assignments {
		c.results.LongestWait = max(c.results.LongestWait, a.AssignedAt.Sub(j.EnqueuedAt))
		c.do(at, router.CompleteJob{JobID: k.id, AssignmentID: id})
		c.do(at, router.CloseJob{JobID: k.id, AssignmentID: id})
	}
}

// end counts the available agents and the queued contacts, and closes the
// center.
func (c *simulation) end() (Results, error) {
	c.results.Available = len(c.state.AvailableWorkers(resource.PoolSpec{QueueID: acd.Callers, ChannelID: acd.Channel}, false))
	figures, _ := c.state.Statistics(acd.Callers, c.start)
	c.results.Queued = figures.Length
	spec := acd.Setup().Queues[acd.Callers]
	spec.Closed = resource.ClosedRefuse
	c.do(c.results.Lasted, router.PutQueue{ID: acd.Callers, Spec: spec})
	c.do(c.results.Lasted, router.SetAvailable{})
	c.results.Events = int(c.state.Seq())
	return c.results, c.err
}

func (c *simulation) do(at time.Duration, command router.Command) {
	if _, err := c.state.Execute(command, c.start.Add(at)); err != nil && c.err == nil {
		c.err = fmt.Errorf("%T: %w", command, err)
	}
}
