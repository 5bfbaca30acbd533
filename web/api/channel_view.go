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
func (p *channelPresenter) list(ctx context.Context, rows []weir.Channel) ([]api.ChannelView, error) {
	figures, err := p.figures.FiguresOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	views := make([]api.ChannelView, len(rows))
	for i := range rows {
		views[i] = p.shown(rows[i], figures[i])
	}
	return views, nil
}

// view returns a channel with its figures and without its secrets.
func (p *channelPresenter) view(ctx context.Context, ch weir.Channel) (api.ChannelView, error) {
	f, err := p.figures.Figures(ctx, ch)
	if err != nil {
		return api.ChannelView{}, err
	}
	return p.shown(ch, f), nil
}

func (p *channelPresenter) shown(ch weir.Channel, f operators.Figures) api.ChannelView {
	breakers := map[operators.Breaker]string{operators.BreakerClosed: "closed", operators.BreakerProbing: "half_open", operators.BreakerOpen: "open"}
	v := api.ChannelView{
		Channel: ch.Name, Type: ch.Type, Name: ch.Title, Capacity: ch.Capacity, Paused: ch.Paused,
		Brake: (*api.Brake)(ch.Brake), BrakeCount: f.Brake, Braked: ch.Braked, Settings: weir.Settings{}, State: string(f.Health), StateReason: f.HealthReason, Deleting: ch.Deleting,
		InFlight: f.InFlight, Sending: f.Sending, Active: f.Active, Unknown: f.Unknown,
		Queued: int(f.Queued), Blocked: f.Blocked, OldestQueuedAt: httpjson.Instant(f.OldestQueuedAt),
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
