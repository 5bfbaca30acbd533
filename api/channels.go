package api

import "time"

// ChannelBody is the body of PUT.
type ChannelBody struct {
	Type     string         `json:"type" minLength:"1" maxLength:"64" doc:"the channel type; it never changes" example:"nuntium"`
	Name     string         `json:"name,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people"`
	Capacity int            `json:"capacity,omitempty" minimum:"1" maximum:"1000000" nullable:"true" doc:"max slots in flight; absent or null: DEFAULT_CHANNEL_CAPACITY"`
	Paused   bool           `json:"paused,omitempty" doc:"start no contact; contacts in flight continue"`
	Brake    *Brake         `json:"brake,omitempty" doc:"when the channel pauses itself; absent: never. A change begins its count anew"`
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
	Channel     string         `json:"channel" doc:"its name in URLs"`
	Type        string         `json:"type"`
	Name        string         `json:"name,omitempty"`
	Capacity    int            `json:"capacity"`
	Paused      bool           `json:"paused"`
	Brake       *Brake         `json:"brake,omitempty" doc:"when it pauses itself; absent: never"`
	BrakeCount  *BrakeFigures  `json:"brake_count,omitempty" doc:"what the brake counts now; absent without a brake, or if it is not known"`
	Braked      *Braked        `json:"braked,omitempty" doc:"it is paused because it paused itself; absent: it did not"`
	Settings    map[string]any `json:"settings" doc:"without the secrets"`
	Secrets     []string       `json:"secrets,omitempty" doc:"the secret settings that have a value" example:"[\"password\"]"`
	State       string         `json:"state" enum:"up,down,error,paused,faulted"`
	StateReason string         `json:"state_reason,omitempty"`
	WhyView
	Deleting       bool         `json:"deleting,omitempty" doc:"its open contacts are being ended; then it is gone"`
	InFlight       int          `json:"in_flight" doc:"slots of sending, active and unknown contacts; never more than the capacity"`
	Sending        int          `json:"sending" doc:"contacts being dispatched: the provider may or may not have them"`
	Active         int          `json:"active" doc:"contacts that the provider has"`
	Unknown        int          `json:"unknown" doc:"contacts whose dispatch is in doubt"`
	Queued         int          `json:"queued" doc:"contacts that wait"`
	Blocked        int          `json:"blocked" doc:"waiting contacts that are larger than the capacity, among those next in line"`
	OldestQueuedAt time.Time    `json:"oldest_queued_at,omitzero" doc:"when the oldest queued contact was accepted"`
	QueueEmptyAt   time.Time    `json:"queue_empty_at,omitzero" doc:"an estimate of when the queue is empty, if contacts are dispatched as fast as over the last minutes and none is added; absent: nothing waits, or it is not yet known"`
	NextDueAt      time.Time    `json:"next_due_at,omitzero" doc:"when the next delayed contact is due: its window opens, or its next attempt"`
	SentPerMinute  float64      `json:"sent_per_minute" doc:"dispatches accepted by the provider per minute, over the last five minutes and the current one"`
	IdleSince      time.Time    `json:"idle_since,omitzero" doc:"since when nothing was dispatched, to the minute and at most five minutes ago; absent: not known"`
	RatePerSecond  float64      `json:"rate_per_second,omitempty" doc:"the rate limit in force: the one of the settings, or less for a while after the provider answered that it is too high; absent: none"`
	Breaker        BreakerView  `json:"breaker"`
	LastCollection *CollectView `json:"last_collection,omitempty" doc:"the last run of the reconciler; absent: none since the channel's broker started"`
	StrayCallback  *StrayView   `json:"stray_callback,omitempty" doc:"the latest callback within a day at an address that channels of the type do not have, which was answered 404; absent: none since the channel was changed or its process began"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
}

// ChannelList is one page of channels.
type ChannelList struct {
	Channels   []ChannelView `json:"channels"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

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
