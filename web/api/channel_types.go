package api

import (
	"context"
	"net/http"
	"time"

	"weir"
	"weir/channels"
	"weir/web/httpjson"
	"weir/web/route"
)

// ChannelTypeList lists the channel types.
type ChannelTypeList struct {
	ChannelTypes []ChannelTypeView `json:"channel_types" doc:"in the order in which people see them"`
	Common       []SettingView     `json:"common" doc:"settings that channels of every type have besides"`
}

// ChannelTypeView is a channel type.
type ChannelTypeView struct {
	Type      string         `json:"type" doc:"its name" example:"nuntium"`
	Summary   string         `json:"summary" doc:"for people" example:"SMS through Nuntium"`
	Content   string         `json:"content" enum:"text,voice,any" doc:"what its contacts carry: messages, a call, or either"`
	SetUp     []string       `json:"set_up,omitempty" doc:"what is to be done at the provider, for people"`
	Settings  []SettingView  `json:"settings" doc:"its own settings, in the order in which a form has them"`
	Templates []TemplateView `json:"templates,omitempty" doc:"settings to start from, for one provider each"`
}

// SettingView is a setting that a channel type declares.
type SettingView struct {
	Key      string        `json:"key" doc:"its name in the object settings" example:"base_url"`
	Kind     channels.Kind `json:"kind" enum:"string,url,integer,boolean,object" doc:"what the value is; url: a text that is an http or https URL; object: a JSON object, or a text that holds one"`
	Required bool          `json:"required,omitempty" doc:"a channel of the type cannot be without it"`
	Secret   bool          `json:"secret,omitempty" doc:"it is written, never read back"`
	Place    bool          `json:"place,omitempty" doc:"it is a part of the place to which secrets are sent: a change of it must include them again"`
	Help     string        `json:"help" doc:"for people"`
	Default  string        `json:"default,omitempty" doc:"the value that it has if it is absent, as a text"`
	Values   []string      `json:"values,omitempty" doc:"the texts that it can have; absent: any"`
}

// TemplateView is a setting's value that comes with the program.
type TemplateView struct {
	Template string   `json:"template" doc:"its name" example:"vonage"`
	Summary  string   `json:"summary" doc:"for people"`
	SetUp    []string `json:"set_up,omitempty" doc:"what is to be done at the provider, for people"`
	Key      string   `json:"key" doc:"the setting that it is a value of"`
	Value    string   `json:"value" doc:"the value: an object as JSON, which the setting takes as a text, too"`
	Values   []string `json:"values,omitempty" doc:"names of the texts that it needs in the setting values"`
	Secrets  []string `json:"secrets,omitempty" doc:"names of the texts that it needs in the setting secrets"`
}

// ChannelTestBody is a channel whose provider is to be asked.
type ChannelTestBody struct {
	Channel  string         `json:"channel,omitempty" minLength:"1" maxLength:"63" doc:"a channel that exists: the settings are merged with its own, as by PATCH, so that its secrets need not be given; absent: a channel that does not exist yet"`
	Type     string         `json:"type,omitempty" minLength:"1" maxLength:"64" doc:"the channel type; required without channel" example:"nuntium"`
	Capacity int            `json:"capacity,omitempty" minimum:"1" maximum:"1000000" nullable:"true" doc:"as for PUT; some settings depend on it"`
	Settings map[string]any `json:"settings,omitempty" doc:"as for PUT or, with channel, as for PATCH"`
}

// ChannelTestView is the provider's answer.
type ChannelTestView struct {
	State   weir.Health `json:"state" enum:"up,down,error" doc:"up: the provider would take contacts; down: it reports that it cannot work; error: it cannot be reached, or refuses the requests"`
	Reason  string      `json:"reason,omitempty" doc:"why it is not up" example:"credentials refused"`
	Checked bool        `json:"checked" doc:"false: these settings name no way to ask the provider, so only the settings were checked"`
}

// channelTestTime bounds how long the provider may take. It is less than the time of a request.
const channelTestTime = 10 * time.Second

// typeTable has the routes that need no stored channel.
func (r *channelRoutes) typeTable() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/channel-types", ID: "list-channel-types", Tag: "channels",
			Summary: "List the channel types with their settings", Handle: r.types,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "all types", Body: route.TypeOf[ChannelTypeList]()}},
		},
		{
			Method: "POST", Path: "/v1/channels:test", ID: "test-channel", Tag: "channels",
			Summary: "Ask a provider whether a channel with these settings would work",
			Description: "Nothing is stored and no contact is dispatched: the provider gets the question by which Weir finds the state of a channel, once, for at most ten seconds. " +
				"Mistakes in the settings are reported as by PUT. The address may be any that a channel of the type may call.",
			Body: route.TypeOf[ChannelTestBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.test, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the provider's answer, also if it is bad", Body: route.TypeOf[ChannelTestView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (r *channelRoutes) types(*route.Call) (route.Reply, error) {
	out := ChannelTypeList{ChannelTypes: []ChannelTypeView{}, Common: settingViews(channels.CommonSettings())}
	for _, t := range r.directory.Types() {
		v := ChannelTypeView{Type: t.Name, Summary: t.Summary, SetUp: t.SetUp, Content: contentName(t.Content), Settings: settingViews(t.Settings)}
		for _, p := range t.Templates {
			v.Templates = append(v.Templates, TemplateView{p.Name, p.Summary, p.SetUp, p.Key, string(p.Value), p.Values, p.Secrets})
		}
		out.ChannelTypes = append(out.ChannelTypes, v)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func settingViews(list []channels.Setting) []SettingView {
	out := make([]SettingView, 0, len(list))
	for _, s := range list {
		out = append(out, SettingView(s))
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
	return route.Reply{Status: http.StatusOK, Body: ChannelTestView{status.Health, status.Reason, !status.Unchecked}}, nil
}

func (r *channelRoutes) ask(ctx context.Context, ch weir.Channel) (channels.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, channelTestTime)
	defer cancel()
	return r.directory.Status(ctx, ch)
}
