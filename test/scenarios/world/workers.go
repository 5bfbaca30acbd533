package world

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"weir"
	"weir/actors/router"
	"weir/channels"
	"weir/channels/workers"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// Interview waits for the contact of a respondent with this attempt number, and
// returns its id.
func (s *Staff) Interview(respondent string, attempt int) (contact string) {
	s.Helper()
	s.Until("an interview with "+respondent, func() bool {
		for _, c := range s.Want(200, "GET", "/v1/contacts?channel=people&survey=talks", nil).Body["contacts"].([]any) {
			c := c.(map[string]any)
			labels := c["labels"].(map[string]any)
			if labels["respondent"] == respondent && labels["attempt"] == string(rune('0'+attempt)) {
				contact = c["id"].(string)
			}
		}
		return contact != ""
	})
	return contact
}

// Staff is a world with a router and people as workers.
type Staff struct {
	*World
	deaf   bool // router events reach no broker
	Router *router.Router
	hints  *workers.Hints
	Stop   context.CancelFunc
	Lose   atomic.Int32 // number of router answers still to lose
	Hold   chan struct{}
}

// Hire gives a world a router, a queue and a channel that uses the queue.
func Hire(w *World, capacity int, deaf bool, settings Fields) *Staff {
	w.Helper()
	s := &Staff{World: w, deaf: deaf}
	w.more = func() []channels.Type {
		var err error
		s.hints = workers.NewHints(w.Logger())
		o := router.Options{System: w.actors, Store: w.Store, Logger: w.Logger(), Valid: w.Store.Valid}
		if !deaf {
			o.Watch = s.hints.Hear
		}
		if s.Router, err = router.Start(o); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(s.Router.Close)
		return []channels.Type{workers.Type(s)}
	}
	w.begun = func(d *channels.Directory) {
		ctx, stop := context.WithCancel(context.Background())
		w.Cleanup(stop)
		s.Stop = stop
		go s.hints.Run(ctx, w.Store, d, w.System)
	}
	w.Restart()
	s.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 86400}})
	s.do(routing.PutQueue{ID: "interviews", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	all := Fields{"queue": "interviews", "selectors": "language=*"}
	for k, v := range settings {
		all[k] = v
	}
	w.Channel("people", capacity, Fields{"type": workers.Name, "settings": all})
	return s
}

// Do implements routing.Engine by the router, but its answers may be lost.
func (s *Staff) Do(ctx context.Context, build func(*routing.State, time.Time) (routing.Command, error), see func(*routing.State, []journal.Event)) error {
	err := s.Router.Do(ctx, build, see)
	if err == nil && s.Lose.Add(-1) >= 0 {
		if s.Hold != nil {
			<-s.Hold // until the process has ended
		}
		return weir.Errorf(weir.CodeUnavailable, "the answer is lost")
	}
	return err
}

// View implements routing.Engine.
func (s *Staff) View(ctx context.Context, see func(*routing.State, time.Time)) error {
	return s.Router.View(ctx, see)
}

func (s *Staff) do(c routing.Command) {
	s.Helper()
	var err error
	s.Until(fmt.Sprintf("the router does %T", c), func() bool {
		err = s.Router.Do(s.Context(), func(*routing.State, time.Time) (routing.Command, error) { return c, nil }, nil)
		return weir.CodeOf(err) != weir.CodeUnavailable
	})
	if err != nil {
		s.Fatalf("%T: %v", c, err)
	}
}

// Worker creates a worker who speaks a language.
func (s *Staff) Worker(id, language string) {
	s.Helper()
	s.do(routing.PutWorker{ID: id, Spec: resource.WorkerSpec{
		Queues: []string{"interviews"}, Capacity: 1, Labels: label.Set{language: label.Bool(true)}, AvailableForOffers: true,
		Channels: []resource.Channel{{ChannelID: "contact", CapacityCostPerJob: 1}},
	}})
}

// Accept waits until a worker is offered a contact, accepts the offer and returns
// the assignment.
func (s *Staff) Accept(worker, contact string) (assignment string) {
	s.Helper()
	offer := ""
	s.Until(worker+" is offered "+contact, func() bool {
		_ = s.Router.View(s.Context(), func(st *routing.State, _ time.Time) {
			if w, _ := st.Worker(worker); len(w.Offers) > 0 && strings.HasPrefix(w.Offers[0].JobID, contact+"-") {
				offer = w.Offers[0].OfferID
			}
		})
		return offer != ""
	})
	s.do(routing.AcceptOffer{WorkerID: worker, OfferID: offer})
	_ = s.Router.View(s.Context(), func(st *routing.State, _ time.Time) { assignment = st.AssignmentOf(worker, offer) })
	return assignment
}

// Close makes a worker finish a contact.
func (s *Staff) Close(contact, assignment, code string) {
	s.Helper()
	s.do(routing.CompleteJob{JobID: contact + "-1", AssignmentID: assignment})
	s.do(routing.CloseJob{JobID: contact + "-1", AssignmentID: assignment, DispositionCode: code})
}
