package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/machine"
	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// Of the workers of matching: each has 3 of 10 skills, and each job needs 2.
const (
	skills    = 10
	perWorker = 3
)

// matchingEngine is a router's engine with workers, and jobs that no worker can take.
type matchingEngine struct {
	engine *router.State
	now    time.Time
}

// matching measures how fast the router's engine finds a worker for a job: the whole
// command, from the job to the offer. Jobs are then carried through to their deletion.
func matching(w load.Workload) (Figures, error) {
	f := figuresOf(w)
	c, err := newMatchingEngine(w.Workers, w.Blocked)
	if err != nil {
		return f, err
	}
	took := make([]time.Duration, w.N)
	others, before := machine.WatchOthers(), machine.Own().CPU
	var all time.Duration
	for i := range took {
		if took[i], err = c.cycle(i); err != nil {
			return f, err
		}
		all += took[i]
	}
	f.charge(cost{cpu: machine.Own().CPU - before, peak: machine.OwnPeak()}, w.N)
	f.Others = others(0)
	f.PerS = float64(w.N) / all.Seconds()
	f.P50, f.P99 = judge.Quantiles(took)
	return f, nil
}

func newMatchingEngine(workers, blocked int) (*matchingEngine, error) {
	c := &matchingEngine{engine: router.New(router.DefaultSettings()), now: time.Now()}
	err := errors.Join(
		c.do(router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Mode: resource.Mode{Kind: resource.LongestIdle}}}),
		c.do(router.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "d"}}))
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < workers && err == nil; i++ {
		labels := label.Set{}
		for k, skill := range r.Perm(skills) {
			labels[skillName(skill)] = label.Bool(k < perWorker)
		}
		err = c.do(router.PutWorker{ID: fmt.Sprintf("w%05d", i), Spec: resource.WorkerSpec{
			Queues: []string{"q"}, Capacity: 1, Labels: labels, AvailableForOffers: true,
			Channels: []resource.Channel{{ChannelID: "voice", CapacityCostPerJob: 1}},
		}})
	}
	for i := 0; i < blocked && err == nil; i++ {
		language := "none" // that any worker speaks
		if i%10 == 0 {
			language += strconv.Itoa(i % 1000) // many classes of jobs
		}
		err = c.do(router.PutJob{ID: "blocked" + strconv.Itoa(i), Spec: jobOf(i, resource.WorkerSelector{Key: "language", Operator: label.Equal, Value: label.Text(language)})})
	}
	return c, err
}

func skillName(k int) string { return "skill" + strconv.Itoa(k) }

// jobOf returns a job that needs two skills, and more.
func jobOf(i int, more ...resource.WorkerSelector) resource.JobSpec {
	first := i % skills
	second := (first + 1 + i/skills%(skills-1)) % skills
	for _, k := range []int{first, second} {
		more = append(more, resource.WorkerSelector{Key: skillName(k), Operator: label.Equal, Value: label.Bool(true)})
	}
	return resource.JobSpec{ChannelID: "voice", QueueID: "q", RequestedWorkerSelectors: more}
}

func (c *matchingEngine) do(command router.Command) error {
	_, err := c.engine.Execute(command, c.now)
	return err
}

// cycle is the life of a job. took is the time until its offer.
func (c *matchingEngine) cycle(i int) (took time.Duration, err error) {
	c.now = c.now.Add(time.Millisecond)
	id := "job" + strconv.Itoa(i)
	job := router.PutJob{ID: id, Spec: jobOf(i)}
	began := time.Now()
	events, err := c.engine.Execute(job, c.now)
	took = time.Since(began)
	if err != nil {
		return took, err
	}
	offer, ok := events[len(events)-1].(*journal.OfferIssuedEvent)
	if !ok {
		return took, fmt.Errorf("job %s got no offer", id)
	}
	if events, err = c.engine.Execute(router.AcceptOffer{WorkerID: offer.WorkerID, OfferID: offer.OfferID}, c.now); err != nil {
		return took, err
	}
	accepted, ok := events[0].(*journal.OfferAcceptedEvent)
	if !ok {
		return took, fmt.Errorf("the offer of job %s was not accepted", id)
	}
	return took, errors.Join(
		c.do(router.CompleteJob{JobID: id, AssignmentID: accepted.AssignmentID}),
		c.do(router.CloseJob{JobID: id, AssignmentID: accepted.AssignmentID}),
		c.do(router.DeleteJob{ID: id}))
}
