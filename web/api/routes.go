// Package api holds the routes of channels, contacts, dead letters, events, minutes,
// the audit log and health, with the types of their bodies.
package api

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/events"
	"weir/internal/tracing"
	"weir/operators"
	"weir/people"
	"weir/web/auth"
	"weir/web/callbacks"
	"weir/web/httpjson"
	"weir/web/route"
)

// Store is the part of the store that the API uses without the broker.
type Store interface {
	weir.ChannelStore
	weir.ContactReader
	weir.AddressReader
	weir.Eraser
	incomingReader
	readiness
}

// Broker is the running broker as the API uses it.
type Broker interface {
	contactAccepter
	contactCanceler
	waitExplainer
	channelOperator
	channelListener
	figureReader
	requeuer
	minuteCounter
}

// Options are the parts of Weir that the API uses.
type Options struct {
	Directory       *channels.Directory
	DefaultCapacity int              // of channels that set none
	ReplyWithin     time.Duration    // how long after a person's message a contact may be a reply; 0: at any time
	Now             func() time.Time // nil: time.Now
	Ending          func() bool      // what takes long ends now; nil: never
	Events          events.Log
	// Interest enables the events of contacts for clients that read them; nil: reading
	// does not enable them.
	Interest events.Interest
	Minutes  operators.MinuteStore // the per-minute counters of channels
	Dead     operators.DeadLetterStore
	Trail    *auth.Trail // records the audit log
	// Hold keeps Weir from dispatching anything; nil: there is no hold.
	Hold Hold
	// Processes lists the processes of the database, the owner first; nil: they are not known.
	Processes func() []api.ProcessView
	// Tracing exports traces; nil: traces are off.
	Tracing *tracing.Tracer
	// Webhooks stores the webhooks of clients, and TestWebhook sends the test event to
	// one.
	Webhooks    events.WebhookStore
	TestWebhook func(context.Context, events.Webhook) (events.Try, error)
	// APITokens stores tokens; nil: it has no routes for them.
	APITokens TokenKeeper
	// MayCall returns why a URL must not be called; nil: every URL may be.
	MayCall func(url string) error
}

// Links connect the API with the broker and with the rest of the handler.
type Links struct {
	Store  Store
	Broker Broker
	// Index caches channels by name.
	Index *callbacks.Index
	// Changed is called after a change of a channel.
	Changed func(weir.Channel)
	// Deleted is called after a channel was deleted.
	Deleted func(weir.Channel)
	// Survey returns an error if there is no survey of a name.
	Survey func(ctx context.Context, name string) error
	// People has the purposes; nil: there is none but the default.
	People people.Purposes
	// Downloads limits and ends the exports.
	Downloads *route.Downloads
}

// Routes returns the route table.
func Routes(o Options, l Links) []*route.Route {
	lookup := channelLookup{l.Store}
	pages := contactPages{lookup, l.Store, l.Broker}
	channel := &channelRoutes{
		lookup: lookup, directory: o.Directory, defaultCapacity: o.DefaultCapacity,
		presenter: channelPresenter{o.Directory, l.Broker, l.Index, o.Now},
		editor:    channelEditor{l.Store, lookup, l.Broker, o.Directory},
		hooks:     channelHooks{l.Index, l.Broker, l.Changed, l.Deleted},
	}
	accept := &acceptRoutes{lookup: lookup, index: l.Index, directory: o.Directory, broker: l.Broker, tracer: o.Tracing, now: o.Now, people: l.People, zones: &people.Zones{}, finder: NewFinder(o, l), replyWithin: o.ReplyWithin, downloads: l.Downloads, bodies: httpjson.NewDecoder(&api.ContactsBody{})}
	contact := &contactRoutes{lookup, l.Store, l.Broker, pages}
	search := &searchRoutes{lookup, o.Directory, pages}
	incoming := &incomingRoutes{lookup, l.Store}
	timeline := &timelineRoutes{lookup, l.Store, o.Dead, o.Trail}
	operations := &operationRoutes{o.Hold, o.Processes}
	minutes := &minuteRoutes{lookup, o.Minutes, l.Broker, o.Now}
	dead := &deadLetterRoutes{lookup, o.Dead, l.Store, l.Broker}
	event := &eventRoutes{log: o.Events, interest: o.Interest, streams: auth.NewConcurrencyLimit(auth.MaxStreams, auth.MaxStreamsPerToken), ending: o.Ending}
	webhook := &webhookRoutes{store: o.Webhooks, log: o.Events, checker: webhookChecker{lookup, l.Survey, o.MayCall}, send: o.TestWebhook, now: o.Now}
	audit := auditRoutes{o.Trail}
	cancel := &cancelRoutes{lookup, l.Store, l.Store, l.Broker}
	export := &exportRoutes{*contact, *dead, audit, l.Downloads}
	return slices.Concat(
		channel.table(), channel.typeTable(), accept.table(), contact.table(), search.table(), incoming.table(), timeline.table(), operations.table(),
		minutes.table(), dead.table(), event.table(), webhook.table(), audit.table(), cancel.table(), export.table(), (&tokenRoutes{o.APITokens, o.Now}).table(),
	)
}
