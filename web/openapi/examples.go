package openapi

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"weir"
	"weir/ops"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/surveys/respondents"
	"weir/web/api"
	"weir/web/surveyapi"
	"weir/web/wire"
)

// plainJSON encodes a value as JSON and decodes it again.
func plainJSON(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	err = json.Unmarshal(raw, &out)
	return out, err
}

// problemExamples returns an example problem for each code, and one for a body
// that is not JSON, by the name that responses refer to.
func problemExamples() map[string]*huma.Example {
	out := map[string]*huma.Example{}
	add := func(name string, err error) {
		p, _ := wire.ProblemOf(err)
		value, _ := plainJSON(p) // cannot fail: only texts and numbers
		out[name] = &huma.Example{Summary: p.Title, Value: value}
	}
	add(exampleOfSlips, &wire.Malformed{Detail: "the body is not JSON: unexpected end"})
	fields := []weir.FieldError{{Pointer: "/capacity", Code: "range", Detail: "must be from 1 to 1000000"}}
	add(string(weir.CodeInvalid), wire.Invalid(fields))
	for code, message := range map[weir.Code]string{
		weir.CodeNotFound:     "there is no channel texts",
		weir.CodeConflict:     "the channel has open contacts; cancel=true ends them",
		weir.CodeKeyReused:    "a key is in use for a contact with other content; nothing was queued",
		weir.CodeUnauthorised: "the request has no bearer token; send one: Authorization: Bearer <token>",
		weir.CodeForbidden:    "this needs a token with the scope channels:admin",
		weir.CodeLimited:      "too many requests",
		weir.CodeTooLarge:     "the body is longer than 1048576 bytes",
		weir.CodeContentType:  "the body has to be application/json",
		weir.CodeUnavailable:  "the store does not answer",
		weir.CodeDraining:     "the process is shutting down",
		weir.CodeInternal:     "",
	} {
		add(string(code), weir.Errorf(code, "%s", message))
	}
	return out
}

// fileExamples returns the start of bodies that are not JSON, by content type,
// or by operation and content type.
func fileExamples() map[string]string {
	return map[string]string{
		"post-respondents " + surveyapi.CSVType:    "phone,first_name,age\n+525512345678,Ana,34\n",
		"post-respondents " + surveyapi.NDJSONType: `{"phone":"+525512345678","first_name":"Ana","age":34}` + "\n",
		surveyapi.CSVType:                          "respondent,phone,status,disposition\nr2s,+525512345678,completed,completed\n",
		api.StreamType:                             "id: 42\nevent: survey.launched\ndata: {\"id\":\"42\",\"type\":\"survey.launched\"}\n\n",
		textType:                                   "weir_channel_capacity_contacts{channel=\"texts\"} 100\n",
		"application/openapi+json":                 `{"openapi":"3.1.0"}`,
		"application/openapi+yaml":                 "openapi: 3.1.0\n",
	}
}

// examples returns a value of each type that is a body.
func examples() map[reflect.Type]any {
	out := map[reflect.Type]any{}
	for _, list := range [][]any{channelExamples(), contactExamples(), surveyExamples(), respondentExamples(), deadExamples(), otherExamples()} {
		for _, v := range list {
			out[reflect.TypeOf(v)] = v
		}
	}
	return out
}

func exampleTime(minutes int) time.Time {
	return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func exampleChannel() api.ChannelView {
	return api.ChannelView{
		Channel: "texts", Type: "nuntium", Name: "SMS, Mexico", Capacity: 100,
		Settings: map[string]any{"base_url": "https://nuntium.example.org", "account": "weir", "application": "surveys"},
		State:    weir.Up, Breaker: api.BreakerView{State: "closed"}, SentPerMinute: 31.5, InFlight: 12, Sending: 1, Active: 11, Queued: 340,
		OldestQueuedAt: new(exampleTime(3)), CreatedAt: exampleTime(-1440), UpdatedAt: exampleTime(-60),
	}
}

func channelExamples() []any {
	return []any{
		exampleChannel(),
		api.ChannelList{Channels: []api.ChannelView{exampleChannel()}, NextCursor: wire.NameCursor("channels", "texts")},
		api.ChannelBody{Type: "nuntium", Name: "SMS, Mexico", Capacity: 100, Settings: map[string]any{
			"base_url": "https://nuntium.example.org", "account": "weir", "application": "surveys", "password": "…",
		}},
		api.ChannelPatch{Capacity: 50, Paused: true},
		api.DeletingView{Channel: "texts", Deleting: true},
		api.IncomingList{Incoming: []api.IncomingView{{ID: "17", From: "+525512345678", To: "+5255000", Body: "yes", GUID: "6f0c", ReceivedAt: exampleTime(5)}}, NextCursor: "17"},
	}
}

func exampleContact() api.ContactView {
	return api.ContactView{
		ID: "1-2s", Channel: "texts", Key: "r17-1", To: "+525512345678", Priority: "normal", Survey: "flu",
		Labels: map[string]string{"region": "north"}, Messages: []string{"Hello Ana, may we ask you something?"}, Size: 1,
		State: "done", Outcome: weir.Completed, QueuedAt: exampleTime(0), FinishedAt: new(exampleTime(2)),
		Attempts: []api.AttemptView{{
			ID: "1-2s-1", Number: 1, ClaimedAt: new(exampleTime(1)), SentAt: new(exampleTime(1)), ProviderRef: "6f0c",
			LastHeardAt: new(exampleTime(2)), FinishedAt: new(exampleTime(2)), Outcome: weir.Completed,
		}},
	}
}

func contactExamples() []any {
	return []any{
		exampleContact(),
		api.ContactList{Contacts: []api.ContactView{exampleContact()}},
		api.ContactsBody{Contacts: []api.ContactBody{
			{Key: "r17-1", To: "+525512345678", Survey: "flu", Labels: map[string]string{"region": "north"}, Messages: []string{"Hello Ana, may we ask you something?"}},
		}},
		api.SearchBody{To: "+52 55 1234 5678", Channel: "texts", Since: new(exampleTime(-1440))},
		api.AcceptedList{Contacts: []api.AcceptedView{{ID: "1-2s", Key: "r17-1", State: "queued"}}},
		api.CanceledView{ID: "1-2s", State: "done", Outcome: weir.Canceled},
	}
}

func exampleSummary() surveyapi.SurveySummary {
	return surveyapi.SurveySummary{
		Survey: "flu", Title: "Vaccination, spring", State: surveys.Running, Version: 3,
		CreatedAt: exampleTime(-120), UpdatedAt: exampleTime(0), LaunchedAt: new(exampleTime(0)),
	}
}

func exampleDefinition() surveys.Definition {
	return surveys.Definition{
		Schedule: calendar.ScheduleSpec{TimeZone: "America/Mexico_City", Weekdays: []string{"mon", "tue", "wed"}, Windows: []calendar.WindowSpec{{From: "09:00", To: "18:00"}}},
		Modes:    map[surveys.Mode]surveys.ModeSpec{"sms": {Channel: "texts", Retries: "2h 1d"}},
		Arms:     []surveys.Arm{{Modes: []surveys.Mode{"sms"}}},
		Questionnaires: map[string]map[surveys.Mode][]surveys.Content{
			"main": {"sms": {{Messages: []string{"Hello {{first_name}}, may we ask you something?"}}}},
		},
		Cutoff: 500,
	}
}

func surveyExamples() []any {
	return []any{
		surveyapi.SurveyView{SurveySummary: exampleSummary(), Application: &surveyapi.ApplicationView{URL: "https://interviews.example.org/weir", HasSecret: true}, Definition: exampleDefinition()},
		surveyapi.SurveyList{Surveys: []surveyapi.SurveySummary{exampleSummary()}},
		surveyapi.SurveyLogList{Entries: []surveyapi.SurveyLogView{{
			ID: "12", At: exampleTime(3), Respondent: "r2s", Event: "ended", Mode: "sms", Channel: "texts", Attempt: 1, Outcome: weir.NoAnswer,
		}}},
		surveyapi.StatsView{
			Survey: "flu", State: surveys.Running, Respondents: 1000,
			Statuses:     map[surveys.Status]int{"pending": 400, "active": 100, "completed": 350, "failed": 150},
			Dispositions: map[surveys.Disposition]int{"registered": 400, "queued": 40, "contacted": 60, "completed": 350, "unresponsive": 150},
			Counted:      350, Target: 500, Quotas: []surveyapi.QuotaView{}, Attempts: []surveyapi.AttemptsView{{Mode: "sms", Outcome: weir.Completed, Count: 600}},
			RatePerMinute: 12.5, SuccessRate: 0.7, EndsAt: new(exampleTime(600)), Open: true,
			Window:   &surveyapi.SpanView{OpensAt: exampleTime(360), ClosesAt: exampleTime(900)},
			Channels: []surveyapi.ChannelUseView{{Mode: "sms", Channel: "texts", State: weir.Up, Since: new(exampleTime(-60))}},
		},
	}
}

func exampleRespondent() surveyapi.RespondentView {
	return surveyapi.RespondentView{
		ID: "r2s", Survey: "flu", Phone: "+525512345678", Attributes: map[string]string{"first_name": "Ana", "age": "34"},
		Status: "active", Disposition: "contacted", Arm: new(0), Questionnaire: "main", Mode: "sms", Attempts: surveys.Counts{SMS: 1},
		Contact: "1-2s", Serial: 1, DueAt: new(exampleTime(120)), ReachedAt: new(exampleTime(2)), AddedAt: exampleTime(-100), StartedAt: new(exampleTime(1)),
	}
}

func respondentExamples() []any {
	return []any{
		exampleRespondent(),
		surveyapi.HeardView{RespondentView: exampleRespondent()},
		surveyapi.RespondentList{Respondents: []surveyapi.RespondentView{exampleRespondent()}},
		surveyapi.ImportView{Added: 1, Respondents: []surveyapi.AddedView{{ID: "r2s"}}, Errors: []respondents.RowError{}},
	}
}

func otherExamples() []any {
	return []any{
		api.EventList{Events: []api.EventView{{ID: "42", Type: "survey.launched", Source: "surveys", Subject: "survey/flu", At: exampleTime(0), Data: map[string]any{"survey": "flu"}}}},
		api.AuditList{Entries: []api.AuditView{{ID: "7", At: exampleTime(0), Token: "k3", Action: "put-channel", Subject: "texts", Status: 200, Request: "0193…", Changes: []api.AuditChangeView{{Field: "capacity", Before: "50", After: "100"}}}}},
		api.HoldView{Held: true, Since: new(exampleTime(0))},
		api.WhoView{Token: "k3", Name: "ann", Scopes: []ops.Scope{ops.ScopeContactsRead, ops.ScopeChannelsAdmin}},
		api.MinutesView{
			Channel: "texts", Step: "1m", Since: exampleTime(0), Until: exampleTime(1),
			Minutes: []api.MinuteView{{
				At: exampleTime(0), Accepted: 40, Sent: 31, SendFailed: 1, Finished: api.FinishedView{Completed: 28, Failed: 2}, Callbacks: api.CallbacksView{Applied: 30},
				InFlight: new(int64(12)), InFlightMost: new(int64(18)), Queued: new(int64(340)), Capacity: new(int64(100)),
			}},
		},
		api.AllMinutesView{
			Step: "15m", Since: exampleTime(0), Until: exampleTime(15),
			Channels: []api.ChannelMinutes{{
				Channel: "texts", Accepted: []int64{40}, Sent: []int64{31}, SendFailed: []int64{1}, Finished: []int64{30}, Completed: []int64{28},
				InFlightMost: []int64{18}, Queued: []int64{340},
			}},
		},
		api.Readiness{Ready: true, Router: api.RouterServing},
		api.Liveness{Status: "alive"},
	}
}
