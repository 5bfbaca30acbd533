package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/ops"
	"weir/web/api"
	"weir/web/dashboard/display"
)

func channelPage() *page {
	admin := []ops.Scope{ops.ScopeChannelsAdmin}
	const one = "/channels/{name}"
	return &page{
		name: "channel", path: one, scopes: readers(),
		load: loadChannel, live: []string{"state", "figures", "charts", "contacts"},
		actions: []action{
			{path: one + "/pause", scopes: admin, ask: askPause, run: pauseChannel(true)},
			{path: one + "/resume", scopes: admin, ask: askResume, run: pauseChannel(false)},
			{path: one + "/capacity", scopes: admin, ask: askCapacity, run: setCapacity},
			{path: one + "/delete", scopes: admin, ask: askDelete, run: deleteChannel},
		},
	}
}

// channelData is the data of a channel's page.
type channelData struct {
	channelCard
	Settings     []fact
	Charts       *charts // nil: not available
	Period       period
	Periods      []period
	Queue        []api.ContactView
	OpenContacts []api.ContactView
	Incoming     []api.IncomingView
	NoContacts   bool // the token may not read contacts
}

func (v *visit) channel() (ch api.ChannelView, err error) {
	err = v.get(apiPath("v1", "channels", v.r.PathValue("name")), nil, &ch)
	return ch, err
}

func loadChannel(v *visit) (*content, error) {
	ch, err := v.channel()
	if err != nil {
		return nil, err
	}
	d := &channelData{channelCard: channelCardOf(ch, v.Now()), Settings: settingsOf(ch), Periods: periods(), Period: periodOf(v.r.URL.Query().Get("hours"))}
	if d.Charts, err = v.charts(ch.Channel, d.Period); err != nil {
		if status, _ := statusOf(err); status != http.StatusNotFound {
			return nil, err
		}
	}
	d.NoContacts = !v.May(ops.ScopeContactsRead)
	if !d.NoContacts {
		if err := d.readLists(v); err != nil {
			return nil, err
		}
	}
	return &content{title: "Channel " + ch.Channel, crumbs: []crumb{{Text: ch.Channel}}, data: d}, nil
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

// settingsOf lists the settings that are not secret, by name.
func settingsOf(ch api.ChannelView) []fact {
	var list []fact
	for name, value := range ch.Settings {
		list = append(list, fact{Name: name, Value: display.SettingText(value)})
	}
	slices.SortFunc(list, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// channelQuestion builds the common part of the questions about a channel.
// The channel may change until the question is answered; only the API decides then.
func channelQuestion(v *visit, title, button string) (api.ChannelView, *question, error) {
	ch, err := v.channel()
	if err != nil {
		return ch, nil, err
	}
	back := "/channels/" + url.PathEscape(ch.Channel)
	return ch, &question{
		title: title + " " + ch.Channel, Button: button, back: back,
		crumbs: []crumb{{Text: ch.Channel, Link: back}, {Text: button}},
		Facts: []fact{
			{"In flight", display.Number(ch.InFlight) + " of " + display.Number(ch.Capacity) + " slots"},
			{"Queued", display.Plural(ch.Queued, "contact", "contacts")},
		},
	}, nil
}

func askPause(v *visit) (*question, error) {
	_, q, err := channelQuestion(v, "Pause channel", "Pause")
	if err == nil {
		q.Text = "No new contacts are dispatched until the channel is resumed. Contacts in flight continue, and contacts can still be queued."
	}
	return q, err
}

func askResume(v *visit) (*question, error) {
	_, q, err := channelQuestion(v, "Resume channel", "Resume")
	if err == nil {
		q.Text = "Queued contacts are dispatched at once, as many as there are free slots."
	}
	return q, err
}

func pauseChannel(paused bool) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		name, word := v.r.PathValue("name"), "is resumed"
		if paused {
			word = "is paused"
		}
		err := v.call(http.MethodPatch, apiPath("v1", "channels", name), map[string]any{"paused": paused}, nil)
		return &done{text: "Channel " + name + " " + word + ".", to: "/channels/" + url.PathEscape(name)}, err
	}
}

func askCapacity(v *visit) (*question, error) {
	ch, q, err := channelQuestion(v, "Change capacity of channel", "Change")
	if err == nil {
		q.Text = "The maximum number of slots in flight. If it is lowered, no new contacts are dispatched until the slots in flight are below it."
		q.Fields = []field{{
			Name: "capacity", Label: "Capacity", Type: "number", Value: strconv.Itoa(ch.Capacity), Required: true,
			Min: strconv.Itoa(weir.MinCapacity), Max: strconv.Itoa(weir.MaxCapacity),
		}}
	}
	return q, err
}

func setCapacity(v *visit) (*done, error) {
	name := v.r.PathValue("name")
	// A form has texts, the API wants a number. Bounds are checked there.
	n, err := strconv.Atoi(v.r.PostForm.Get("capacity"))
	if err != nil {
		return nil, &problem{Status: http.StatusUnprocessableEntity, Detail: "the capacity must be a whole number"}
	}
	err = v.call(http.MethodPatch, apiPath("v1", "channels", name), map[string]any{"capacity": n}, nil)
	return &done{text: "The capacity of channel " + name + " is " + display.Number(n) + ".", to: "/channels/" + url.PathEscape(name)}, err
}

func askDelete(v *visit) (*question, error) {
	ch, q, err := channelQuestion(v, "Delete channel", "Delete")
	if err == nil {
		open := ch.Queued + int64(ch.Sending+ch.Active+ch.Unknown)
		q.Danger = true
		q.Text = "This cannot be undone. Finished contacts stay readable until their retention ends."
		if open > 0 {
			q.Text += " The channel has open contacts: queued ones end as canceled, and the provider is asked to cancel the others."
			q.Fields = []field{{Name: "cancel", Label: "Cancel " + display.Plural(open, "open contact", "open contacts"), Type: "checkbox"}}
		}
	}
	return q, err
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
		return &done{text: "Channel " + name + " is deleted when its last contact is done.", to: "/"}, nil
	}
	return &done{text: "Channel " + name + " is deleted.", to: "/"}, nil
}
