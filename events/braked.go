package events

import (
	"encoding/json"

	"weir"
)

// Types of the events about channels and surveys that paused themselves.
const (
	ChannelBraked = "weir.channel.braked"
	SurveyBraked  = "weir.survey.braked"
)

// brakedData is the data of these events.
type brakedData struct {
	Channel string `json:"channel,omitempty"`
	Survey  string `json:"survey,omitempty"`
	weir.Braked
}

// Braked returns the event of a brake that has acted; kind is channel or survey.
func Braked(kind, name string, b *weir.Braked) Event {
	e := Event{Type: ChannelBraked, Source: SourceChannels, Subject: kind + "/" + name, At: b.At}
	data := brakedData{Channel: name, Braked: *b}
	if kind == "survey" {
		e.Type, e.Source = SurveyBraked, SourceSurveys
		data.Channel, data.Survey = "", name
	}
	e.Data, _ = json.Marshal(data) // it always encodes
	return e
}
