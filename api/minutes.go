package api

import "time"

// AllMinutesView shows the activity of many channels, for small charts.
type AllMinutesView struct {
	Step       string           `json:"step" enum:"15m,1h"`
	Since      time.Time        `json:"since" doc:"the beginning of the first step"`
	Until      time.Time        `json:"until" doc:"the end of the last step, which may be in the future"`
	Channels   []ChannelMinutes `json:"channels" nullable:"false" doc:"by name; those on which nothing happened in that time are left out"`
	NextCursor string           `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// CallbacksView counts reports of a provider, by verdict.
type CallbacksView struct {
	Applied   int64 `json:"applied,omitempty"`
	Duplicate int64 `json:"duplicate,omitempty"`
	Late      int64 `json:"late,omitempty"`
	Unknown   int64 `json:"unknown,omitempty" doc:"reports on unknown attempts"`
}

// ChannelMinutes holds the steps of one channel, one number per step.
type ChannelMinutes struct {
	Channel      string  `json:"channel"`
	Accepted     []int64 `json:"accepted" nullable:"false"`
	Sent         []int64 `json:"sent" nullable:"false"`
	SendFailed   []int64 `json:"send_failed" nullable:"false"`
	Finished     []int64 `json:"finished" nullable:"false" doc:"contacts that ended, however"`
	Completed    []int64 `json:"completed" nullable:"false" doc:"contacts that ended well"`
	InFlightMost []int64 `json:"in_flight_most" nullable:"false" doc:"most slots at one moment; 0 also where that is not known"`
	Queued       []int64 `json:"queued" nullable:"false" doc:"contacts that waited at the end; 0 also where that is not known"`
}

// FinishedView counts contacts that are done, by outcome.
type FinishedView struct {
	Completed  int64 `json:"completed,omitempty"`
	Busy       int64 `json:"busy,omitempty"`
	NoAnswer   int64 `json:"no_answer,omitempty"`
	Failed     int64 `json:"failed,omitempty"`
	Expired    int64 `json:"expired,omitempty"`
	Canceled   int64 `json:"canceled,omitempty"`
	Lost       int64 `json:"lost,omitempty"`
	DeadLetter int64 `json:"dead_letter,omitempty"`
}

// HourView is one hour of a channel.
type HourView struct {
	At          time.Time `json:"at" doc:"its beginning"`
	Sent        int64     `json:"sent" doc:"dispatches accepted by the provider"`
	Capacity    int64     `json:"capacity" doc:"the most of the hour"`
	Utilization float64   `json:"utilization" doc:"share of the capacity that was in use, from 0 to 1, measured at the end of each minute"`
}

// HoursView shows how busy a channel was, hour by hour.
type HoursView struct {
	Channel string     `json:"channel"`
	Since   time.Time  `json:"since" doc:"the beginning of the first hour"`
	Until   time.Time  `json:"until" doc:"the end of the last hour"`
	Hours   []HourView `json:"hours" nullable:"false" doc:"oldest first; hours without activity are left out"`
}

// MinuteView is one step of a channel.
type MinuteView struct {
	At            time.Time     `json:"at" doc:"its beginning"`
	Accepted      int64         `json:"accepted" doc:"contacts"`
	Sent          int64         `json:"sent" doc:"dispatches accepted by the provider"`
	SendFailed    int64         `json:"send_failed" doc:"dispatches that it refused, or whose result was lost"`
	Finished      FinishedView  `json:"finished" doc:"contacts that ended, by outcome; absent: none"`
	Callbacks     CallbacksView `json:"callbacks" doc:"reports of the provider, by what they did; absent: none"`
	CollectorRuns int64         `json:"collector_runs" doc:"runs of the reconciler"`
	Reconciled    int64         `json:"reconciled" doc:"contacts that were reconciled by querying the provider"`
	InFlight      *int64        `json:"in_flight,omitempty" doc:"slots, at the end; this and the next three are absent when not known, and stand as they were where nothing changed"`
	InFlightMost  *int64        `json:"in_flight_most,omitempty" doc:"most slots at one moment"`
	Queued        *int64        `json:"queued,omitempty" doc:"contacts that waited at the end, as far as the broker knew"`
	Capacity      *int64        `json:"capacity,omitempty" doc:"at the end"`
}

// MinutesView shows the activity of one channel, step by step.
type MinutesView struct {
	Channel string       `json:"channel"`
	Step    string       `json:"step" enum:"1m,5m,15m,1h"`
	Since   time.Time    `json:"since" doc:"the beginning of the first step"`
	Until   time.Time    `json:"until" doc:"the end of the last step, which may be in the future"`
	Minutes []MinuteView `json:"minutes" nullable:"false" doc:"every step of that time, oldest first; the last one is incomplete if until is in the future"`
}
