package api

import "time"

// BreakerView is a channel's circuit breaker.
type BreakerView struct {
	State string    `json:"state" enum:"closed,half_open,open" doc:"closed: contacts are dispatched; open: none is dispatched until an instant; half_open: one contact is being dispatched as a probe"`
	Until time.Time `json:"until,omitzero" doc:"when an open breaker allows the next dispatch"`
}

// StrayView is a callback at an unknown path.
type StrayView struct {
	Path string    `json:"path" doc:"below the callback address of the channel, as far as it consists of words" example:"incomming"`
	At   time.Time `json:"at"`
}

// CollectView is one run of the reconciler: a search for contacts that have
// been silent for too long.
type CollectView struct {
	At      time.Time `json:"at"`
	Checked int       `json:"checked" doc:"contacts about which the provider was to be queried"`
	Settled int       `json:"settled" doc:"contacts that were reconciled, then and since"`
}

// DeletingView is the response to a deletion in progress.
type DeletingView struct {
	Channel  string `json:"channel"`
	Deleting bool   `json:"deleting"`
}

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
	Key      string   `json:"key" doc:"its name in the object settings" example:"base_url"`
	Kind     string   `json:"kind" enum:"string,url,integer,boolean,object" doc:"what the value is; url: a text that is an http or https URL; object: a JSON object, or a text that holds one"`
	Required bool     `json:"required,omitempty" doc:"a channel of the type cannot be without it"`
	Secret   bool     `json:"secret,omitempty" doc:"it is written, never read back"`
	Place    bool     `json:"place,omitempty" doc:"it is a part of the place to which secrets are sent: a change of it must include them again"`
	Help     string   `json:"help" doc:"for people"`
	Default  string   `json:"default,omitempty" doc:"the value that it has if it is absent, as a text"`
	Values   []string `json:"values,omitempty" doc:"the texts that it can have; absent: any"`
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
	State   string `json:"state" enum:"up,down,error" doc:"up: the provider would take contacts; down: it reports that it cannot work; error: it cannot be reached, or refuses the requests"`
	Reason  string `json:"reason,omitempty" doc:"why it is not up" example:"credentials refused"`
	Checked bool   `json:"checked" doc:"false: these settings name no way to ask the provider, so only the settings were checked"`
}

// CallbackView is the address of a channel's callbacks.
type CallbackView struct {
	URL    string            `json:"url" doc:"without a trailing slash; paths below it have their meaning by the channel's type"`
	ByHand []CallbackAddress `json:"by_hand,omitempty" doc:"whole addresses for people to give to the provider; absent: Weir gives them all"`
}

// CallbackAddress is the address of callbacks of a kind.
type CallbackAddress struct {
	URL string `json:"url"`
	For string `json:"for" doc:"what arrives there" example:"Messages from people"`
}
