package api

import (
	"context"
	"math"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/operators"
	"weir/web/callbacks"
	"weir/web/httpjson"
	"weir/web/route"
)

// ChannelBody is the body of PUT.
type ChannelBody struct {
	Type     string         `json:"type" minLength:"1" maxLength:"64" doc:"the channel type; it never changes" example:"nuntium"`
	Name     string         `json:"name,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people"`
	Capacity int            `json:"capacity,omitempty" minimum:"1" maximum:"1000000" nullable:"true" doc:"max slots in flight; absent or null: DEFAULT_CHANNEL_CAPACITY"`
	Paused   bool           `json:"paused,omitempty" doc:"start no contact; contacts in flight continue"`
	Brake    *weir.Brake    `json:"brake,omitempty" doc:"when the channel pauses itself; absent: never. A change begins its count anew"`
	Settings map[string]any `json:"settings,omitempty" doc:"depends on the type; secrets are written, never read back, so that a replacing PUT has to carry them again"`
}

// ChannelPatch is the body of PATCH: a JSON merge patch (RFC 7396).
type ChannelPatch struct {
	Type     *string        `json:"type,omitempty" minLength:"1" maxLength:"64" doc:"must be the current type"`
	Name     *string        `json:"name,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" nullable:"true" doc:"for people; null: none"`
	Capacity *int           `json:"capacity,omitempty" minimum:"1" maximum:"1000000" nullable:"true" doc:"max slots in flight; null: DEFAULT_CHANNEL_CAPACITY"`
	Paused   *bool          `json:"paused,omitempty" nullable:"true" doc:"start no contact; contacts in flight continue; null: false"`
	Brake    map[string]any `json:"brake,omitzero" nullable:"true" doc:"when the channel pauses itself: merged field by field, as PUT has them; null: never"`
	Settings map[string]any `json:"settings,omitzero" doc:"merged key by key; null removes an optional setting"`
}

// ChannelView is a channel in a response.
type ChannelView struct {
	Channel     string             `json:"channel" doc:"its name in URLs"`
	Type        string             `json:"type"`
	Name        string             `json:"name,omitempty"`
	Capacity    int                `json:"capacity"`
	Paused      bool               `json:"paused"`
	Brake       *weir.Brake        `json:"brake,omitempty" doc:"when it pauses itself; absent: never"`
	BrakeCount  *weir.BrakeFigures `json:"brake_count,omitempty" doc:"what the brake counts now; absent without a brake, or if it is not known"`
	Braked      *weir.Braked       `json:"braked,omitempty" doc:"it is paused because it paused itself; absent: it did not"`
	Settings    map[string]any     `json:"settings" doc:"without the secrets"`
	Secrets     []string           `json:"secrets,omitempty" doc:"the secret settings that have a value" example:"[\"password\"]"`
	State       string             `json:"state" enum:"up,down,error,paused,faulted"`
	StateReason string             `json:"state_reason,omitempty"`
	api.WhyView
	Deleting       bool             `json:"deleting,omitempty" doc:"its open contacts are being ended; then it is gone"`
	InFlight       int              `json:"in_flight" doc:"slots of sending, active and unknown contacts; never more than the capacity"`
	Sending        int              `json:"sending" doc:"contacts being dispatched: the provider may or may not have them"`
	Active         int              `json:"active" doc:"contacts that the provider has"`
	Unknown        int              `json:"unknown" doc:"contacts whose dispatch is in doubt"`
	Queued         int64            `json:"queued" doc:"contacts that wait"`
	Blocked        int              `json:"blocked" doc:"waiting contacts that are larger than the capacity, among those next in line"`
	OldestQueuedAt time.Time        `json:"oldest_queued_at,omitzero" doc:"when the oldest queued contact was accepted"`
	QueueEmptyAt   time.Time        `json:"queue_empty_at,omitzero" doc:"an estimate of when the queue is empty, if contacts are dispatched as fast as over the last minutes and none is added; absent: nothing waits, or it is not yet known"`
	NextDueAt      time.Time        `json:"next_due_at,omitzero" doc:"when the next delayed contact is due: its window opens, or its next attempt"`
	SentPerMinute  float64          `json:"sent_per_minute" doc:"dispatches accepted by the provider per minute, over the last five minutes and the current one"`
	IdleSince      time.Time        `json:"idle_since,omitzero" doc:"since when nothing was dispatched, to the minute and at most five minutes ago; absent: not known"`
	RatePerSecond  float64          `json:"rate_per_second,omitempty" doc:"the rate limit in force: the one of the settings, or less for a while after the provider answered that it is too high; absent: none"`
	Breaker        api.BreakerView  `json:"breaker"`
	LastCollection *api.CollectView `json:"last_collection,omitempty" doc:"the last run of the reconciler; absent: none since the channel's broker started"`
	StrayCallback  *api.StrayView   `json:"stray_callback,omitempty" doc:"the latest callback within a day at an address that channels of the type do not have, which was answered 404; absent: none since the channel was changed or its process began"`
	CreatedAt      time.Time        `json:"created_at"`
	UpdatedAt      time.Time        `json:"updated_at"`
}

// ChannelList is one page of channels.
type ChannelList struct {
	Channels   []ChannelView `json:"channels"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// figureReader reads the live figures of channels.
type figureReader interface {
	// Figures returns the live figures of a channel.
	Figures(ctx context.Context, ch weir.Channel) (operators.Figures, error)
	// FiguresOf returns the figures of many channels, in their order.
	FiguresOf(ctx context.Context, list []weir.Channel) ([]operators.Figures, error)
}

// channelPresenter shows channels with their figures and without their secrets.
type channelPresenter struct {
	directory *channels.Directory
	figures   figureReader
	index     *callbacks.Index
	now       func() time.Time
}

// reply returns the response to a change of a channel.
func (p *channelPresenter) reply(ctx context.Context, status int, before, ch weir.Channel) (route.Reply, error) {
	v, err := p.view(ctx, ch)
	return route.Reply{Status: status, Body: v, ETag: channelTag(&ch), Changes: channelChanges(p.directory, before, ch)}, err
}

// list returns the views of channels.
func (p *channelPresenter) list(ctx context.Context, rows []weir.Channel) ([]ChannelView, error) {
	figures, err := p.figures.FiguresOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	views := make([]ChannelView, len(rows))
	for i := range rows {
		views[i] = p.shown(rows[i], figures[i])
	}
	return views, nil
}

// view returns a channel with its figures and without its secrets.
func (p *channelPresenter) view(ctx context.Context, ch weir.Channel) (ChannelView, error) {
	f, err := p.figures.Figures(ctx, ch)
	if err != nil {
		return ChannelView{}, err
	}
	return p.shown(ch, f), nil
}

func (p *channelPresenter) shown(ch weir.Channel, f operators.Figures) ChannelView {
	breakers := map[operators.Breaker]string{operators.BreakerClosed: "closed", operators.BreakerProbing: "half_open", operators.BreakerOpen: "open"}
	v := ChannelView{
		Channel: ch.Name, Type: ch.Type, Name: ch.Title, Capacity: ch.Capacity, Paused: ch.Paused,
		Brake: ch.Brake, BrakeCount: f.Brake, Braked: ch.Braked, Settings: weir.Settings{}, State: string(f.Health), StateReason: f.HealthReason, Deleting: ch.Deleting,
		InFlight: f.InFlight, Sending: f.Sending, Active: f.Active, Unknown: f.Unknown,
		Queued: f.Queued, Blocked: f.Blocked, OldestQueuedAt: httpjson.Instant(f.OldestQueuedAt),
		WhyView: f.Why.View(), Breaker: api.BreakerView{State: breakers[f.Breaker]}, SentPerMinute: math.Round(f.SentPerMinute*100) / 100,
		QueueEmptyAt: httpjson.Instant(f.EmptyAt(p.now())), IdleSince: httpjson.Instant(f.IdleSince), RatePerSecond: f.RatePerSecond, CreatedAt: ch.Created.UTC(), UpdatedAt: ch.Updated.UTC(),
	}
	// For an unknown channel type, Weir cannot tell which settings are secret,
	// so it shows none.
	if t, ok := p.directory.Type(ch.Type); ok {
		if shown := t.Redact(ch.Settings); shown != nil {
			v.Settings = shown
		}
		v.Secrets = t.Secrets(ch.Settings)
	}
	if stray, ok := p.index.Astray(ch.Name); ok {
		v.StrayCallback = &api.StrayView{Path: stray.Path, At: stray.At.UTC()}
	}
	if f.Breaker == operators.BreakerOpen {
		v.Breaker.Until = httpjson.Instant(f.BreakerUntil)
	}
	if f.NextDue.After(p.now()) {
		v.NextDueAt = httpjson.Instant(f.NextDue)
	}
	if at := f.Reconciliation.At; !at.IsZero() {
		v.LastCollection = &api.CollectView{At: at.UTC(), Checked: f.Reconciliation.Checked, Settled: f.Reconciliation.Resolved}
	}
	return v
}

// channelChanges lists the differences between two versions of a channel.
// Settings that the channel type does not show, or of an unknown type, count as
// secret.
func channelChanges(directory *channels.Directory, before, after weir.Channel) []operators.FieldChange {
	doc := func(ch weir.Channel) map[string]any {
		out := map[string]any{"settings": map[string]any(ch.Settings)}
		if ch.ID != 0 || ch.Capacity != 0 {
			out["type"], out["capacity"], out["paused"] = ch.Type, ch.Capacity, ch.Paused
		}
		if ch.Brake != nil {
			out["brake"] = brakeDocument(ch.Brake)
		}
		if ch.Title != "" {
			out["name"] = ch.Title
		}
		return out
	}
	shown := map[string]string{}
	if t, ok := directory.Type(after.Type); ok {
		route.Flatten("settings", map[string]any(t.Redact(before.Settings)), shown)
		route.Flatten("settings", map[string]any(t.Redact(after.Settings)), shown)
	}
	return route.ChangesOf(doc(before), doc(after), func(path string) bool {
		_, known := shown[path]
		return strings.HasPrefix(path, "settings.") && !known
	})
}
