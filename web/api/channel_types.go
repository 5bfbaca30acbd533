package api

import (
	"context"
	"net/http"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/web/httpjson"
	"weir/web/route"
)

// channelTestTime bounds how long the provider may take. It is less than the time of a request.
const channelTestTime = 10 * time.Second

// typeTable has the routes that need no stored channel.
func (r *channelRoutes) typeTable() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/channel-types", ID: "list-channel-types", Tag: "channels",
			Summary: "List the channel types with their settings", Handle: r.types,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "all types", Body: route.TypeOf[api.ChannelTypeList]()}},
		},
		{
			Method: "POST", Path: "/v1/channels:test", ID: "test-channel", Tag: "channels",
			Summary: "Ask a provider whether a channel with these settings would work",
			Description: "Nothing is stored and no contact is dispatched: the provider gets the question by which Weir finds the state of a channel, once, for at most ten seconds. " +
				"Mistakes in the settings are reported as by PUT. The address may be any that a channel of the type may call.",
			Body: route.TypeOf[api.ChannelTestBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.test, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the provider's answer, also if it is bad", Body: route.TypeOf[api.ChannelTestView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (r *channelRoutes) types(*route.Call) (route.Reply, error) {
	out := api.ChannelTypeList{ChannelTypes: []api.ChannelTypeView{}, Common: settingViews(channels.CommonSettings())}
	for _, t := range r.directory.Types() {
		v := api.ChannelTypeView{Type: t.Name, Summary: t.Summary, SetUp: t.SetUp, Content: contentName(t.Content), Settings: settingViews(t.Settings)}
		for _, p := range t.Templates {
			v.Templates = append(v.Templates, api.TemplateView{
				Template: p.Name, Summary: p.Summary, SetUp: p.SetUp, Key: p.Key, Value: string(p.Value), Values: p.Values, Secrets: p.Secrets,
			})
		}
		out.ChannelTypes = append(out.ChannelTypes, v)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func settingViews(list []channels.Setting) []api.SettingView {
	out := make([]api.SettingView, 0, len(list))
	for _, s := range list {
		out = append(out, api.SettingView{
			Key: s.Key, Kind: string(s.Kind), Required: s.Required, Secret: s.Secret, Place: s.Place, Help: s.Help, Default: s.Default, Values: s.Values,
		})
	}
	return out
}

func contentName(c channels.Content) string {
	switch c {
	case channels.Text:
		return "text"
	case channels.Voice:
		return "voice"
	case channels.Any:
	}
	return "any"
}

// test asks a provider. A channel that exists lends its secrets only to the place to which they
// are sent already.
func (r *channelRoutes) test(c *route.Call) (route.Reply, error) {
	ch := weir.Channel{Name: "test", Capacity: r.defaultCapacity, Settings: weir.Settings{}}
	ch.Type, _ = c.Body["type"].(string)
	if name, ok := c.Body["channel"].(string); ok && len(c.Errors) == 0 {
		have, err := r.lookup.selected(c, name)
		if err != nil {
			return route.Reply{}, err
		}
		if ch.Type != "" && ch.Type != have.Type {
			return route.Reply{}, errTypeChange(have)
		}
		ch = have
	} else if !ok && ch.Type == "" {
		c.Errors.Add("/type", "required", "must be one of %s", typeNames(r.directory.Types()))
	}
	before := ch.Settings
	mergeChannel(&ch, c.Body, r.defaultCapacity)
	checkChannel(r.directory, ch, &c.Errors)
	checkMove(r.directory, &ch, before, c)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	status, err := r.ask(c, ch)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: api.ChannelTestView{State: string(status.Health), Reason: status.Reason, Checked: !status.Unchecked}}, nil
}

func (r *channelRoutes) ask(ctx context.Context, ch weir.Channel) (channels.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, channelTestTime)
	defer cancel()
	return r.directory.Status(ctx, ch)
}
