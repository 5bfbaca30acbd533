package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	channelbroker "weir/actors/channels"
	"weir/actors/contacts"
	delivery "weir/actors/events"
	"weir/actors/router"
	"weir/actors/supervise"
	surveybroker "weir/actors/surveys"
	"weir/channels"
	"weir/channels/all"
	"weir/channels/workers"
	"weir/config"
	"weir/events"
	"weir/internal/outbound"
	"weir/internal/tracing"
	"weir/operators"
	"weir/persistence"
	routing "weir/router"
	"weir/surveys"
	webapi "weir/web/api"
	"weir/web/auth"
)

// components are the components of a daemon.
type components struct {
	store          *persistence.Store
	router         *router.Router
	directory      *channels.Directory
	channels       *channelbroker.System
	surveys        *surveybroker.System
	tokens         surveys.Tokens                      // of respondents
	surveysStarted atomic.Pointer[surveybroker.System] // surveys, for components that start before them
	delivery       *delivery.System
	tracing        *tracing.Tracer // nil: traces are off
	webhooks       *delivery.Webhooks
	gate           *auth.Gate
	hold           *hold
	trail          *auth.Trail
	stopHints      func(context.Context) error // stops the goroutine of startHints
}

// start starts the actors in this order: event delivery, the router, the channels,
// which may dispatch to the router, and the surveys, which feed the channels.
func (p *components) start(ctx context.Context, o Options, undo *cleanups) error {
	if err := p.store.OpenPeople(ctx, o.Config.PeopleKeys); err != nil {
		return err
	}
	held := heldStore{p.store, p.hold}
	calls := heldCalls{outbound.New(outboundPolicy(o.Config)), p.hold}
	undo.add("outbound calls", func(context.Context) error { calls.Close(); return nil })
	webhookCalls := heldCalls{outbound.New(webhookPolicy(o.Config)), p.hold}
	undo.add("calls of webhooks", func(context.Context) error { webhookCalls.Close(); return nil })
	if err := p.startDelivery(ctx, o, calls, webhookCalls); err != nil {
		return err
	}
	undo.add("event delivery", p.delivery.Close)
	system := supervise.NewSystem(o.Logger) // one for all actors of the process
	undo.add("actor system", func(context.Context) error { supervise.Shutdown(system); return nil })
	hints := workers.NewHints(o.Logger)
	if err := p.startRouter(o, calls, hints, system); err != nil {
		return err
	}
	undo.add("router", p.router.Drain)
	if err := p.startChannels(o, held, system, undo); err != nil {
		return err
	}
	p.hold.onEnd = p.reloadChannels
	undo.add("router hints", p.startHints(hints))
	if err := p.startSurveys(ctx, o, held, system); err != nil {
		return err
	}
	undo.add("surveys", p.surveys.Drain)
	return nil
}

func (p *components) startRouter(o Options, calls heldCalls, hints *workers.Hints, system *actor.ActorSystem) (err error) {
	c := o.Config
	p.router, err = router.Start(router.Options{
		Store: p.store, Caller: calls, Events: p.store, Logger: o.Logger, Metrics: router.NewMetrics(o.Registry), Valid: p.store.Valid,
		Watch: hints.Hear, Settings: routerSettings(c), Hold: p.hold.wait, System: system,
	})
	return err
}

func (p *components) startChannels(o Options, held heldStore, system *actor.ActorSystem, undo *cleanups) (err error) {
	c := o.Config
	types := o.Types
	if types == nil {
		types = all.Types(p.router)
	}
	p.directory = channels.NewDirectory(types, c.PublicURL, o.Transport)
	p.directory.Guard(outboundPolicy(c))
	undo.add("connections to providers", func(context.Context) error { p.directory.Close(); return nil })
	p.channels, err = channelbroker.Start(channelbroker.Options{
		Store: held, Queue: held, Minutes: p.store, Directory: p.directory, Core: coreConfig(c), Logger: o.Logger,
		Metrics: channelbroker.NewMetrics(o.Registry), Valid: p.store.Valid,
		SendTimeout: c.SendTimeout.Duration(), AskTimeout: c.SendTimeout.Duration(),
		Middleware: o.Middleware, System: system, Tracing: p.tracing,
	})
	if err != nil {
		return err
	}
	undo.add("channels", func(context.Context) error { p.channels.Close(); return nil })
	return nil
}

// startHints forwards events of the router to the worker channels, and returns the
// function that stops this.
func (p *components) startHints(hints *workers.Hints) func(context.Context) error {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); hints.Run(ctx, p.store, p.directory, p.channels) }()
	p.stopHints = func(context.Context) error { end(); <-done; return nil }
	return p.stopHints
}

func (p *components) startSurveys(ctx context.Context, o Options, held heldStore, system *actor.ActorSystem) error {
	c := o.Config
	key, err := p.store.TokenKey(ctx)
	if err != nil {
		return err
	}
	p.tokens = surveys.NewTokens(key)
	p.surveys, err = surveybroker.Start(surveybroker.Options{
		Store: surveybroker.Store{
			SurveyStore: held, ChannelReader: held, RespondentReader: held, PacingReader: held, Worker: held, Outbox: held, ChannelStateStore: held, ContactReader: held,
		},
		Channels: p.channels, Types: p.directory, People: p.store, Limits: p.store, StartNumber: p.store.Start(), Defaults: surveyDefaults(c), Logger: o.Logger,
		Metrics:    surveybroker.NewMetrics(o.Registry),
		CheckEvery: c.ChannelCheck.Duration(), CheckTimeout: c.SendTimeout.Duration(), Random: rand.Float64, Tokens: p.tokens, ActorSystem: system,
	})
	if err != nil {
		return err
	}
	p.surveysStarted.Store(p.surveys)
	return nil
}

// startDelivery starts the delivery of events: events of the router to its subscribers,
// messages and states of respondents to the applications of their surveys. It must
// start before every part that creates events: a new receiver gets only events that
// are committed after it starts.
func (p *components) startDelivery(ctx context.Context, o Options, calls, webhookCalls heldCalls) (err error) {
	c := o.Config
	receivers := []delivery.Receiver{p.applications(calls)}
	if err := CheckSubscriptions(c); err != nil {
		return err
	}
	for _, s := range c.EventSubscriptions {
		format := delivery.Format(cmp.Or(s.Format, c.EventFormat))
		receivers = append(receivers, delivery.Subscriber(delivery.Subscription{URL: s.URL, Format: format, Topic: c.PublicURL}, calls))
	}
	p.webhooks = &delivery.Webhooks{Store: p.store, Calls: webhookCalls, Mask: webapi.MaskedEvent, Disabled: p.webhookDisabled}
	p.delivery, err = delivery.Start(ctx, delivery.Options{
		Store: p.store, Receivers: receivers, Webhooks: p.webhooks, Logger: o.Logger, Metrics: delivery.NewMetrics(o.Registry),
		PollEvery: pollEventsEvery, Tracing: p.tracing,
	})
	return err
}

// webhookDisabled records that Weir has disabled a webhook.
func (p *components) webhookDisabled(id, reason string) {
	p.trail.Add(operators.AuditEntry{
		At: time.Now(), Action: "disable-webhook", Subject: id, Status: http.StatusOK,
		Changes: []operators.FieldChange{{Field: "enabled", Before: "true", After: "false"}, {Field: "disabled_reason", After: reason}},
	})
}

// applications returns the receiver that posts events to the programs that hold
// conversations with respondents.
func (p *components) applications(calls delivery.Caller) delivery.Receiver {
	return delivery.Receiver{
		Name:  "surveys",
		Types: []string{surveys.MessageEvent, surveys.RespondentEvent},
		Wants: surveys.ForApplication,
		// An application that does not answer must not delay the others.
		Group:       surveys.SurveyOf,
		MaxDeferred: 100_000,
		Deliver: delivery.Application(calls, p.applicationOf, func(ctx context.Context, e events.Event, body []byte) error {
			broker, err := p.startedSurveys()
			if err != nil {
				return err
			}
			return broker.ApplyResponse(ctx, e, body)
		}),
	}
}

func (p *components) startedSurveys() (*surveybroker.System, error) {
	if broker := p.surveysStarted.Load(); broker != nil {
		return broker, nil
	}
	return nil, errors.New("the surveys have not started")
}

// applicationOf returns what evaluates the messages of the survey that an event is about.
func (p *components) applicationOf(ctx context.Context, e events.Event) (delivery.Hook, error) {
	var about struct{ Survey string } // in events of both types
	if err := json.Unmarshal(e.Data, &about); err != nil {
		return delivery.Hook{}, errors.New("invalid event data")
	}
	s, err := p.store.Survey(ctx, about.Survey)
	if weir.CodeOf(err) == weir.CodeNotFound {
		return delivery.Hook{}, nil
	}
	if s.Application.URL == "" && s.Definition.Answer != nil {
		return delivery.Hook{Here: func(ctx context.Context, e events.Event) error {
			broker, err := p.startedSurveys()
			if err != nil {
				return err
			}
			return broker.ApplyMessage(ctx, e)
		}}, err
	}
	return delivery.Hook{URL: s.Application.URL, Secret: s.Application.Secret}, err
}

// resume continues the work that an earlier process left open.
func (p *components) resume(ctx context.Context) error {
	return errors.Join(p.channels.Resume(ctx), p.surveys.Resume(ctx))
}

// handOver ends what a next owner of the database goes on with. It may be called more than
// once, also without a resume before it.
func (p *components) handOver(ctx context.Context) error {
	// Surveys first, because their rounds ask the channels; the router after the channels, which
	// dispatch to it. Deliveries that take long are interrupted: the next owner repeats them.
	err := p.surveys.Drain(ctx)
	p.channels.Close()
	return errors.Join(err, p.stopHints(ctx), p.router.Drain(ctx), p.delivery.Close(ctx))
}

func routerSettings(c config.Config) routing.Settings {
	s := routing.DefaultSettings()
	s.KeepFinished, s.MaxStored = c.RouterKeep.Duration(), c.RouterMaxMiB<<20
	return s
}

func coreConfig(c config.Config) contacts.Config {
	return contacts.Config{
		IdleAfter: c.GCIdle.Duration(), ReconcileEvery: c.GCInterval.Duration(),
		SettleAfter: c.SettleAfter.Duration(), LostAfter: c.LostAfter.Duration(), StopAfter: c.ShutDown.Duration(),
		SendConcurrency: c.SendConcurrency, AskConcurrency: c.CollectConcurrency, Chance: rand.Float64,
	}
}

func surveyDefaults(c config.Config) surveys.Defaults {
	rate := 1.0
	// As in Surveda, whose variables these are: a respondent counts only if the number is valid,
	// the person eligible and the questions answered.
	for _, percent := range []int{c.InitialValid, c.InitialEligibility, c.InitialResponse} {
		rate *= float64(percent) / 100
	}
	return surveys.Defaults{Batch: c.BatchSize, LimitPerMinute: c.BatchLimit, InitialSuccessRate: rate, Words: c.Words()}
}

// reloadChannels makes every channel read its row again.
func (p *components) reloadChannels(ctx context.Context) error {
	const page = 500
	for after := ""; ; {
		list, err := p.store.Channels(ctx, after, page)
		for i := range list {
			p.channels.Changed(ctx, list[i].ID)
			after = list[i].Name
		}
		if err = errors.Join(err, ctx.Err()); err != nil || len(list) < page {
			return err
		}
	}
}
