package surveys

import (
	"encoding/json"
	"strings"
	"time"

	"weir"
	"weir/events"
)

// Types of the events about surveys and the channels that they use.
const (
	StateEvent      = "weir.survey.state"      // a survey's state has changed
	RespondentEvent = "weir.survey.respondent" // a respondent's status has become final
	MessageEvent    = "weir.survey.message"    // a respondent has sent a message
	ChannelEvent    = "weir.channel.state"     // the health of a channel that surveys use has changed
)

// Sources of these events.
const (
	sourceSurveys  = events.SourceSurveys
	sourceChannels = events.SourceChannels
)

// MessageData is the data of a [MessageEvent]. It contains no phone number.
type MessageData struct {
	Survey     string    `json:"survey"`
	Respondent string    `json:"respondent"`
	Channel    string    `json:"channel"`
	Text       string    `json:"text"`
	ReceivedAt time.Time `json:"received_at"`
	Serial     int       `json:"serial"` // of the respondent's latest contact
}

type stateData struct {
	Survey string `json:"survey"`
	State  State  `json:"state"`
	Cause  Cause  `json:"cause,omitempty"`
}

type respondentData struct {
	Survey      string      `json:"survey"`
	Respondent  string      `json:"respondent"`
	Status      Status      `json:"status"`
	Disposition Disposition `json:"disposition"`
	Attempts    Counts      `json:"attempts"`
}

type channelData struct {
	Channel string      `json:"channel"`
	State   weir.Health `json:"state"`
	Reason  string      `json:"reason,omitempty"`
	Was     weir.Health `json:"was"`
}

// newEvent builds an event. data must be a struct of strings and numbers.
func newEvent(kind, source, subject string, at time.Time, data any) events.Event {
	body, _ := json.Marshal(data) // such a struct always encodes
	return events.Event{Type: kind, Source: source, Subject: subject, At: at, Data: body}
}

// ForApplication reports whether an event concerns the application that holds
// the conversation: a message of the respondent, or that Weir ended the
// conversation because the quota is full.
func ForApplication(e events.Event) bool {
	if e.Type != RespondentEvent {
		return e.Type == MessageEvent
	}
	var about respondentData
	return json.Unmarshal(e.Data, &about) == nil && about.Status == Rejected && about.Attempts.Total() > 0
}

func surveySubject(name string) string { return "survey/" + name }

func respondentSubject(survey string, id RespondentID) string {
	return surveySubject(survey) + "/respondent/" + id.String()
}

// SurveyOf returns the part of a respondent event's subject that all events of
// its survey share.
func SurveyOf(subject string) string {
	if i := strings.LastIndex(subject, "/respondent/"); i >= 0 {
		return subject[:i]
	}
	return subject
}

// StateChanged returns the event that a survey's state has changed.
func StateChanged(s *Survey, now time.Time) events.Event {
	return newEvent(StateEvent, sourceSurveys, surveySubject(s.Name), now, stateData{s.Name, s.State, s.Cause})
}

// HealthChanged returns the event that the health of a channel has changed.
func HealthChanged(name string, was weir.Health, s ChannelState) events.Event {
	return newEvent(ChannelEvent, sourceChannels, "channel/"+name, s.Since, channelData{name, s.Health, s.Reason, was})
}
