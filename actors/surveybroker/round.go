package surveybroker

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// round is one pass over everything.
type round struct {
	*System
	mem   *memory
	now   time.Time
	until func() bool // whether this process may still write
	lease weir.Lease  // under which it writes

	channels map[weir.ChannelID]weir.Channel
	named    map[string]weir.ChannelID // 0: there is none
	others   map[int64]*known          // surveys that need no rounds but get outbox entries
	again    bool                      // work is left to be done at once
	next     time.Time                 // instant of the next known work; zero: none is known
	hinted   bool                      // the round has a cause other than the regular interval
	noticed  bool                      // there were outbox entries
	made     int                       // moves that were made, and outbox entries that were removed without one
	stuck    int                       // contacts that could not be canceled
	recheck  []weir.ChannelID          // channels to check again soon
	later    []weir.Ref                // contacts to cancel after their commit
	tallies  map[int64]tally           // of the surveys that may start respondents
	hanging  sync.Mutex
	hung     map[weir.ChannelID]int // cancellations that timed out, by channel
}

// result is the outcome of a round.
type result struct {
	again   bool
	next    time.Time
	recheck []weir.ChannelID // channels to check again soon
	using   []weir.Channel   // channels in use, see round.using
	err     error
}

// errRoleLost reports that another process may run the surveys by now.
var errRoleLost = fmt.Errorf("the role of the survey broker is not ours any more")

// runRound runs one round. hinted reports that the round has a cause other than
// the regular interval.
func (s *System) runRound(ctx context.Context, mem *memory, hinted bool) (out result) {
	r := &round{
		System: s, mem: mem, now: time.Now(), until: s.leading, lease: s.role.held(), others: map[int64]*known{}, tallies: map[int64]tally{}, hung: map[weir.ChannelID]int{},
		channels: map[weir.ChannelID]weir.Channel{}, named: map[string]weir.ChannelID{},
	}
	defer func() {
		if p := recover(); p != nil {
			s.metrics.panics.Inc()
			s.logger.Error("panic in a round of the survey broker", "panic", supervise.PanicText(p), "stack", string(debug.Stack()))
			out.err = fmt.Errorf("the round crashed: %s", supervise.PanicText(p))
		}
		s.metrics.rounds.Observe(time.Since(r.now).Seconds())
	}()
	err := r.run(ctx, hinted)
	return result{again: r.again, next: r.next, recheck: r.recheck, using: r.using(), err: err}
}

func (r *round) run(ctx context.Context, hinted bool) error {
	if err := r.recall(ctx); err != nil {
		return err
	}
	// With no survey to run, one statement per interval is enough.
	notices, look := true, true
	r.hinted = hinted
	if !hinted && !r.mem.live {
		look = !r.mem.looked
		notices = !look
		r.mem.looked = look
	}
	if look {
		if err := r.look(ctx); err != nil {
			return err
		}
	}
	if notices {
		if err := r.notices(ctx); err != nil {
			return err
		}
	}
	if !look {
		r.again = r.again || r.noticed
		return nil
	}
	var bidders []*known
	for _, k := range r.mem.surveys {
		k.wanted = 0
		open, err := r.tend(ctx, k)
		if err != nil {
			return err
		}
		if open {
			bidders = append(bidders, k)
		}
	}
	err := r.feed(ctx, bidders)
	r.showWanted()
	return err
}

// recall reads the channel states that an earlier process found.
func (r *round) recall(ctx context.Context) error {
	if r.mem.recalled {
		return nil
	}
	states, err := call(ctx, r.store.ChannelStates)
	if err != nil {
		return fmt.Errorf("read the states of channels: %w", err)
	}
	for _, s := range states {
		r.mem.states[s.Channel] = sight{ChannelState: s}
	}
	r.mem.recalled = true
	return nil
}

// look polls the surveys that need rounds.
func (r *round) look(ctx context.Context) error {
	for _, k := range r.mem.surveys {
		k.seen = false
	}
	r.mem.live = false
	for after := ""; ; {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Survey, error) {
			return r.store.Surveys(ctx, []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping}, after, surveyPage)
		})
		if err != nil {
			return fmt.Errorf("find the surveys: %w", err)
		}
		for i := range page {
			if page[i].Deleting {
				continue
			}
			k := r.mem.surveys[page[i].ID]
			if k == nil {
				k = &known{}
				r.mem.surveys[page[i].ID] = k
				r.metrics.known(page[i].Name)
			}
			r.learn(k, page[i])
			k.seen = true
			r.mem.live = r.mem.live || k.survey.State != surveys.Paused || !k.allHeld
		}
		if len(page) < surveyPage {
			break
		}
		after = page[len(page)-1].Name
	}
	for id, k := range r.mem.surveys {
		if !k.seen {
			r.metrics.forget(k.survey.Name)
			delete(r.mem.surveys, id)
			for _, road := range r.mem.roads {
				road.rota = road.rota.Forget(k.survey.Name)
			}
		}
	}
	return nil
}

// learn updates k to a new version of its survey.
func (r *round) learn(k *known, s surveys.Survey) {
	if k.survey.Version == s.Version && k.survey.ID == s.ID {
		return
	}
	k.rest, k.failures, k.held, k.allHeld = time.Time{}, 0, 0, false
	k.moved = k.moved || k.survey.ID == s.ID && !reflect.DeepEqual(k.survey.Definition.Schedule, s.Definition.Schedule)
	k.missed = k.missed || k.survey.ID == s.ID && k.plan == nil
	k.survey = s
	plan, wrong := r.library.plan(&s, r.defaults)
	if k.plan = plan; plan == nil {
		r.logger.Error("a survey's definition cannot be run any more; the survey is left alone until it is changed",
			"survey", s.Name, "error", surveys.Invalid(wrong))
	}
}

// survey returns the state of any survey; nil if it does not exist.
func (r *round) survey(ctx context.Context, id int64) (*known, error) {
	if k := r.mem.surveys[id]; k != nil {
		return k, nil
	}
	if k, ok := r.others[id]; ok {
		return k, nil
	}
	s, err := call(ctx, func(ctx context.Context) (surveys.Survey, error) { return r.store.SurveyByID(ctx, id) })
	if weir.CodeOf(err) == weir.CodeNotFound || err == nil && s.Deleting {
		r.others[id] = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a survey: %w", err)
	}
	k := &known{}
	r.learn(k, s)
	r.others[id] = k
	return k, nil
}

// channel finds a channel by name; ok is false if there is none.
func (r *round) channel(ctx context.Context, name string) (_ weir.Channel, ok bool, _ error) {
	if id, found := r.named[name]; found {
		return r.channels[id], id != 0, nil
	}
	ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return r.store.Channel(ctx, name) })
	if weir.CodeOf(err) == weir.CodeNotFound {
		r.named[name] = 0
		return weir.Channel{}, false, nil
	}
	if err != nil {
		return weir.Channel{}, false, fmt.Errorf("read a channel: %w", err)
	}
	r.named[name], r.channels[ch.ID] = ch.ID, ch
	return ch, true, nil
}

// names reads the names of channels, for the log.
func (r *round) names(ctx context.Context, ids map[weir.ChannelID]bool) error {
	for id := range ids {
		if _, ok := r.channels[id]; ok || id == 0 {
			continue
		}
		ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return r.store.ChannelByID(ctx, id) })
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return fmt.Errorf("read a channel: %w", err)
		}
		r.channels[id] = ch
	}
	return nil
}

// desk returns the stepper of one survey.
func (r *round) desk(ctx context.Context, k *known) (*desk, error) {
	for _, name := range k.plan.Channels {
		if _, _, err := r.channel(ctx, name); err != nil {
			return nil, err
		}
	}
	return r.newDesk(k, r.now, r.channels, r.named), nil
}

func (s *System) newDesk(k *known, now time.Time, channels map[weir.ChannelID]weir.Channel, named map[string]weir.ChannelID) *desk {
	return &desk{
		survey: &k.survey, plan: k.plan, now: now, chance: s.chance, tokens: s.tokens,
		over: func(m surveys.Mode) (weir.Channel, bool) {
			id := named[k.plan.Channels[m]]
			ch := channels[id]
			return ch, id != 0 && !ch.Deleting && !ch.Deleted && s.unfit(m, ch) == ""
		},
		name: func(id weir.ChannelID) string { return channels[id].Name },
		crashed: func(p any, stack []byte) {
			s.metrics.panics.Inc()
			s.metrics.stumbled.WithLabelValues(k.survey.Name).Inc()
			s.logger.Error("the rules panicked over a respondent", "survey", k.survey.Name, "panic", supervise.PanicText(p), "stack", string(stack))
		},
	}
}

// using lists the channels that running, paused and stopping surveys use, as
// far as this round has read them.
func (r *round) using() []weir.Channel {
	var out []weir.Channel
	had := map[weir.ChannelID]bool{}
	for _, k := range r.mem.surveys {
		if k.plan == nil {
			continue
		}
		for _, name := range k.plan.Channels {
			if id := r.named[name]; id != 0 && !had[id] {
				had[id] = true
				out = append(out, r.channels[id])
			}
		}
	}
	return out
}

// wake schedules the next round for an instant at the latest.
func (r *round) wake(at time.Time) {
	if !at.IsZero() {
		r.next = soonest(r.next, at)
	}
}

// call bounds one call of the store by ioTimeout.
func call[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}
