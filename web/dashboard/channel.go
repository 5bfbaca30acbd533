package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	webapi "weir/web/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// channelData is the data of a channel's page.
type channelData struct {
	channelCard
	Waits        *whyView    // why no contacts are dispatched; nil: they are
	Settings     []fact      // not the secrets
	Limits       []limitView // that it shares with other channels
	Skipped      []skippedRow
	BrakeView    *brakeView // nil: it has none
	Charts       *charts
	Hours        *hoursData
	Period       period
	Periods      []period
	Queue        []api.ContactView
	OpenContacts []api.ContactView
	Incoming     []api.IncomingView
	NoContacts   bool // the token may not read contacts
}

func (k *knownOfChannels) loadChannel(v *visit) (*content, error) {
	ch, err := readChannel(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &channelData{channelCard: channelCardOf(v.Locale, ch, v.Now()), Settings: factsOf(ch.Settings, display.SettingText), Periods: periods(), Period: periodOf(v.r.URL.Query().Get("hours"))}
	d.Waits, d.BrakeView = channelWhy(v.Locale, &ch, v.Now()), brakeOf(v.Locale, ch.Brake, ch.BrakeCount, ch.Braked)
	if d.Charts, err = readCharts(v.caller, k.charts, ch.Channel, d.Period); err != nil {
		return nil, err
	}
	if d.Hours, err = readHours(v.caller, k.hours, ch.Channel); err != nil {
		return nil, err
	}
	if d.Limits, err = readLimitsOf(v.caller, ch.Channel); err != nil {
		return nil, err
	}
	if d.Skipped, err = readSkipped(v, k.skipped, "channel", ch.Channel); err != nil {
		return nil, err
	}
	d.NoContacts = !v.MayChannel(ch.Channel, operators.ScopeContactsRead)
	if !d.NoContacts {
		if err := d.readLists(v); err != nil {
			return nil, err
		}
	}
	return &content{title: v.T("Channel %s", ch.Channel), crumbs: []crumb{{Text: ch.Channel}}, data: d}, nil
}

// channelWhy explains why a channel dispatches nothing. It is idle from when both
// something waited and nothing was dispatched.
func channelWhy(l *locale.Locale, ch *webapi.ChannelView, now time.Time) *whyView {
	var idle time.Time
	if !ch.IdleSince.IsZero() && !ch.OldestQueuedAt.IsZero() {
		idle = ch.IdleSince
		if ch.OldestQueuedAt.After(idle) {
			idle = ch.OldestQueuedAt
		}
	}
	return whyOf(l, &ch.WhyView, ch.Channel, idle, now)
}

// readLists reads the contacts and messages that the page lists.
func (d *channelData) readLists(v *visit) error {
	for states, into := range map[string]*[]api.ContactView{"queued": &d.Queue, "sending,active,unknown": &d.OpenContacts} {
		var page api.ContactList
		query := url.Values{"channel": {d.Channel}, "state": {states}, "limit": {strconv.Itoa(maxListed)}}
		if err := v.get("/v1/contacts", query, &page); err != nil {
			return err
		}
		*into = page.Contacts
	}
	var incoming api.IncomingList
	if err := v.get(apiPath("v1", "channels", d.Channel, "incoming"), url.Values{"limit": {strconv.Itoa(maxListed)}}, &incoming); err != nil {
		return err
	}
	d.Incoming = incoming.Incoming
	return nil
}

// askChannel returns the question about an action on a channel. more, if not nil, adds
// to it. The channel may change until the question is answered; only the API decides then.
func askChannel(about asking, more func(*locale.Locale, *question, *webapi.ChannelView)) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		ch, err := readChannel(v.caller, v.r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		q := about.question(v.Locale, ch.Channel)
		q.back = channelLink(ch.Channel)
		q.crumbs = channelCrumbs(ch.Channel, crumb{Text: q.Button})
		q.Facts = []fact{
			{v.T("In flight"), v.T("%[1]s of %[2]s slots", v.Number(ch.InFlight), v.Number(ch.Capacity))},
			{v.T("Queued"), v.T("%d contacts", ch.Queued)},
		}
		if more != nil {
			more(v.Locale, q, &ch)
		}
		return q, nil
	}
}

func pauseChannel(paused bool) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		name, text := v.r.PathValue("name"), locale.Message("Channel %s is resumed.")
		if paused {
			text = "Channel %s is paused."
		}
		err := v.call(http.MethodPatch, apiPath("v1", "channels", name), map[string]any{"paused": paused}, nil)
		return &done{text: v.T(text, name), to: channelLink(name)}, err
	}
}

func addCapacity(l *locale.Locale, q *question, ch *webapi.ChannelView) {
	q.Fields = []field{{
		Name: "capacity", Label: l.T("Capacity"), Type: "number", Value: strconv.Itoa(ch.Capacity), Required: true,
		Min: strconv.Itoa(weir.MinCapacity), Max: strconv.Itoa(weir.MaxCapacity),
	}}
}

func setCapacity(v *visit) (*done, error) {
	name := v.r.PathValue("name")
	// A form has texts, the API wants a number. Bounds are checked there.
	n, err := strconv.Atoi(v.r.PostForm.Get("capacity"))
	if err != nil {
		return nil, &problem{Status: http.StatusUnprocessableEntity, Detail: v.T("the capacity must be a whole number")}
	}
	err = v.call(http.MethodPatch, apiPath("v1", "channels", name), map[string]any{"capacity": n}, nil)
	return &done{text: v.T("The capacity of channel %[1]s is %[2]s.", name, v.Number(n)), to: channelLink(name)}, err
}

func addOpenContacts(l *locale.Locale, q *question, ch *webapi.ChannelView) {
	if open := ch.Queued + int64(ch.Sending+ch.Active+ch.Unknown); open > 0 {
		q.Text += " " + l.T("The channel has open contacts: queued ones end as canceled, and the provider is asked to cancel the others.")
		q.Fields = []field{{Name: "cancel", Label: l.T("Cancel %d open contacts", open), Type: "checkbox"}}
	}
}

func deleteChannel(v *visit) (*done, error) {
	name, path := v.r.PathValue("name"), apiPath("v1", "channels", v.r.PathValue("name"))
	// Without it the API refuses to delete a channel that has open contacts.
	if v.r.PostForm.Get("cancel") == "true" {
		path += "?cancel=true"
	}
	var still api.DeletingView
	if err := v.call(http.MethodDelete, path, nil, &still); err != nil {
		return nil, err
	}
	if still.Deleting {
		return &done{text: v.T("Channel %s is deleted when its last contact is done.", name), to: "/"}, nil
	}
	return &done{text: v.T("Channel %s is deleted.", name), to: "/"}, nil
}
