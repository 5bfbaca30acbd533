package channels

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/limits"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// channelData is the data of a channel's page.
type channelData struct {
	Card
	Waits        *why.View     // why no contacts are dispatched; nil: they are
	Settings     []page.Fact   // not the secrets
	Limits       []limits.View // that it shares with other channels
	Skipped      []why.SkippedRow
	BrakeView    *why.BrakeView // nil: it has none
	Charts       *charts
	Hours        *hoursData
	Period       period
	Periods      []period
	Queue        []api.ContactView
	OpenContacts []api.ContactView
	Incoming     []api.IncomingView
	NoContacts   bool // the token may not read contacts
}

func (k *knownOfChannels) loadChannel(v *page.Visit) (*page.Content, error) {
	ch, err := choices.Channel(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &channelData{Card: CardOf(v.Locale, ch, v.Now()), Settings: page.FactsOf(ch.Settings, display.SettingText), Periods: periods(), Period: periodOf(v.Request.URL.Query().Get("hours"))}
	d.Waits, d.BrakeView = channelWhy(v.Locale, &ch, v.Now()), why.BrakeOf(v.Locale, ch.Brake, ch.BrakeCount, ch.Braked)
	if d.Charts, err = readCharts(v.Caller, k.charts, ch.Channel, d.Period); err != nil {
		return nil, err
	}
	if d.Hours, err = readHours(v.Caller, k.hours, ch.Channel); err != nil {
		return nil, err
	}
	if d.Limits, err = limits.OfChannel(v.Caller, ch.Channel); err != nil {
		return nil, err
	}
	if d.Skipped, err = why.Skipped(v, k.skipped, "channel", ch.Channel); err != nil {
		return nil, err
	}
	d.NoContacts = !v.MayChannel(ch.Channel, operators.ScopeContactsRead)
	if !d.NoContacts {
		if err := d.readLists(v); err != nil {
			return nil, err
		}
	}
	return &page.Content{Title: v.T("Channel %s", ch.Channel), Crumbs: []page.Crumb{{Text: ch.Channel}}, Data: d}, nil
}

// channelWhy explains why a channel dispatches nothing. It is idle from when both
// something waited and nothing was dispatched.
func channelWhy(l *locale.Locale, ch *api.ChannelView, now time.Time) *why.View {
	var idle time.Time
	if !ch.IdleSince.IsZero() && !ch.OldestQueuedAt.IsZero() {
		idle = ch.IdleSince
		if ch.OldestQueuedAt.After(idle) {
			idle = ch.OldestQueuedAt
		}
	}
	return why.Of(l, &ch.WhyView, ch.Channel, idle, now)
}

// readLists reads the contacts and messages that the page lists.
func (d *channelData) readLists(v *page.Visit) error {
	for states, into := range map[string]*[]api.ContactView{"queued": &d.Queue, "sending,active,unknown": &d.OpenContacts} {
		var list api.ContactList
		query := url.Values{"channel": {d.Channel}, "state": {states}, "limit": {strconv.Itoa(page.MaxListed)}}
		if err := v.Get("/v1/contacts", query, &list); err != nil {
			return err
		}
		*into = list.Contacts
	}
	var incoming api.IncomingList
	if err := v.Get(page.Path("v1", "channels", d.Channel, "incoming"), url.Values{"limit": {strconv.Itoa(page.MaxListed)}}, &incoming); err != nil {
		return err
	}
	d.Incoming = incoming.Incoming
	return nil
}

// askChannel returns the question about an action on a channel. more, if not nil, adds
// to it. The channel may change until the question is answered; only the API decides then.
func askChannel(about page.Asking, more func(*locale.Locale, *page.Question, *api.ChannelView)) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		ch, err := choices.Channel(v.Caller, v.Request.PathValue("name"))
		if err != nil {
			return nil, err
		}
		q := about.Question(v.Locale, ch.Channel)
		q.Back = channelLink(ch.Channel)
		q.Crumbs = channelCrumbs(ch.Channel, page.Crumb{Text: q.Button})
		q.Facts = []page.Fact{
			{Name: v.T("In flight"), Value: v.T("%[1]s of %[2]s slots", v.Number(ch.InFlight), v.Number(ch.Capacity))},
			{Name: v.T("Queued"), Value: v.T("%d contacts", ch.Queued)},
		}
		if more != nil {
			more(v.Locale, q, &ch)
		}
		return q, nil
	}
}

func pauseChannel(paused bool) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		name, text := v.Request.PathValue("name"), locale.Message("Channel %s is resumed.")
		if paused {
			text = "Channel %s is paused."
		}
		err := v.Call(http.MethodPatch, page.Path("v1", "channels", name), map[string]any{"paused": paused}, nil)
		return &page.Done{Text: v.T(text, name), To: channelLink(name)}, err
	}
}

func addCapacity(l *locale.Locale, q *page.Question, ch *api.ChannelView) {
	q.Fields = []page.Field{{
		Name: "capacity", Label: l.T("Capacity"), Type: "number", Value: strconv.Itoa(ch.Capacity), Required: true,
		Min: strconv.Itoa(weir.MinCapacity), Max: strconv.Itoa(weir.MaxCapacity),
	}}
}

func setCapacity(v *page.Visit) (*page.Done, error) {
	name := v.Request.PathValue("name")
	// A form has texts, the API wants a number. Bounds are checked there.
	n, err := strconv.Atoi(v.Request.PostForm.Get("capacity"))
	if err != nil {
		return nil, &page.Problem{Status: http.StatusUnprocessableEntity, Detail: v.T("the capacity must be a whole number")}
	}
	err = v.Call(http.MethodPatch, page.Path("v1", "channels", name), map[string]any{"capacity": n}, nil)
	return &page.Done{Text: v.T("The capacity of channel %[1]s is %[2]s.", name, v.Number(n)), To: channelLink(name)}, err
}

func addOpenContacts(l *locale.Locale, q *page.Question, ch *api.ChannelView) {
	if open := ch.Queued + ch.Sending + ch.Active + ch.Unknown; open > 0 {
		q.Text += " " + l.T("The channel has open contacts: queued ones end as canceled, and the provider is asked to cancel the others.")
		q.Fields = []page.Field{{Name: "cancel", Label: l.T("Cancel %d open contacts", open), Type: "checkbox"}}
	}
}

func deleteChannel(v *page.Visit) (*page.Done, error) {
	name, path := v.Request.PathValue("name"), page.Path("v1", "channels", v.Request.PathValue("name"))
	// Without it the API refuses to delete a channel that has open contacts.
	if v.Request.PostForm.Get("cancel") == "true" {
		path += "?cancel=true"
	}
	var still api.DeletingView
	if err := v.Call(http.MethodDelete, path, nil, &still); err != nil {
		return nil, err
	}
	if still.Deleting {
		return &page.Done{Text: v.T("Channel %s is deleted when its last contact is done.", name), To: "/"}, nil
	}
	return &page.Done{Text: v.T("Channel %s is deleted.", name), To: "/"}, nil
}
