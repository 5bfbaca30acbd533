package acd

import (
	"fmt"
	"math/rand/v2"

	"weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// Names of the resources that Seed creates.
const (
	Channel = "call"         // of jobs and agents
	Agents  = "agents"       // the queue where a caller gets an agent now or not at all
	Callers = "callers"      // the queue where callers wait
	Policy  = "longest-idle" // distribution policy of both queues: longest available first; an offer is an assignment
	NoWait  = "nobody-waits" // exception policy of Agents
)

// Example is a contact center for trying the router: the resources to put, in
// the order of the fields.
type Example struct {
	Distribution map[string]resource.DistributionSpec
	Exception    map[string]resource.ExceptionSpec
	Queues       map[string]resource.QueueSpec
	Pools        []Named[resource.PoolSpec]
	Agents       []Named[resource.WorkerSpec]
}

// Named is a specification with an id.
type Named[T any] struct {
	ID   string
	Spec T
}

func languages() []string { return []string{"English", "French", "Spanish"} }

// names returns few names, so that agents share them; their ids distinguish
// them.
func names() map[string][]string {
	return map[string][]string{
		"F": {"Alicia", "Amina", "Chipo", "Fatou", "Ines", "Mary", "Rosa", "Zanele"},
		"M": {"Abel", "Chad", "David", "Juan", "Kwame", "Moses", "Omar", "Peter"},
	}
}

// Seed returns an example with a number of agents, each with a name, a gender
// and one to three of three languages. The same seed gives the same agents.
func Seed(agents int, seed uint64) Example {
	x := Setup()
	chance := rand.New(rand.NewPCG(seed, 0))
	for i := range agents {
		sex := []string{"F", "M"}[chance.IntN(2)]
		first := names()[sex]
		name := first[chance.IntN(len(first))]
		all := languages()
		chance.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		id := fmt.Sprintf("agent-%03d-%08x", i+1, chance.Uint32())
		x.Agents = append(x.Agents, Named[resource.WorkerSpec]{id, Agent(name, sex, all[:1+chance.IntN(3)]...)})
	}
	return x
}

// Setup returns the example without agents: policies, queues, and one pool
// for each language and gender.
func Setup() Example {
	x := Example{
		Distribution: map[string]resource.DistributionSpec{Policy: {AutoAccept: true, Mode: resource.Mode{Kind: resource.LongestIdle}}},
		Exception: map[string]resource.ExceptionSpec{NoWait: {ExceptionRules: []resource.ExceptionRule{{
			ID: NoWait, Trigger: resource.Trigger{Kind: resource.TriggerWaitTime},
			Actions: []resource.Action{{ID: "cancel", Kind: resource.ActionCancel, DispositionCode: router.NoWorkerAvailable}},
		}}}},
		Queues: map[string]resource.QueueSpec{
			Agents:  {DistributionPolicyID: Policy, ExceptionPolicyID: NoWait},
			Callers: {DistributionPolicyID: Policy},
		},
	}
	for _, l := range languages() {
		for _, sex := range []string{"F", "M"} {
			x.Pools = append(x.Pools, Named[resource.PoolSpec]{
				"Q#" + l + "#" + sex, resource.PoolSpec{QueueID: Agents, ChannelID: Channel, Selectors: combination(l, sex)},
			})
		}
	}
	return x
}

// Agent returns an available agent who takes one call at a time.
func Agent(name, sex string, skills ...string) resource.WorkerSpec {
	w := resource.WorkerSpec{
		Queues: []string{Agents, Callers}, Capacity: 1, AvailableForOffers: true,
		Channels: []resource.Channel{{ChannelID: Channel, CapacityCostPerJob: 1}},
		Labels:   label.Set{gender: label.Text(sex)}, Tags: label.Set{"name": label.Text(name)},
	}
	for _, s := range skills {
		w.Labels[s] = label.Bool(true)
	}
	return w
}
