package api

import "time"

// Brake defines when a channel or a survey pauses itself: when more of the latest contacts
// than a share were opted out of, failed, or ended with a reason.
type Brake struct {
	Over     int            `json:"over,omitempty" minimum:"10" maximum:"10000" doc:"how many of the latest contacts that ended are counted; absent: 100" example:"100"`
	Minimum  int            `json:"minimum,omitempty" minimum:"1" maximum:"10000" doc:"how many contacts must have ended before it acts, at most over; absent: 20, or over if that is less" example:"20"`
	OptedOut int            `json:"opted_out_percent,omitempty" minimum:"1" maximum:"99" doc:"it acts when more than this share of them opted out; absent: opt-outs are not bounded" example:"5"`
	Failed   int            `json:"failed_percent,omitempty" minimum:"1" maximum:"99" doc:"it acts when more than this share of them ended as failed" example:"20"`
	Reasons  map[string]int `json:"reasons,omitempty" maxProperties:"20" doc:"it acts when more than this share of them, 1 to 99 percent, ended with this reason, by the exact text of reason" example:"{\"number not usable\": 30}"`
}

// BrakeFigures are what a brake counts now.
type BrakeFigures struct {
	Of       int            `json:"of" doc:"contacts that are counted: the latest that ended, up to over"`
	OptedOut int            `json:"opted_out" doc:"opt-outs that came while they ended"`
	Failed   int            `json:"failed" doc:"how many of them failed"`
	Reasons  map[string]int `json:"reasons,omitempty" doc:"how many of them ended with each reason that has a bound"`
	Touched  int            `json:"touched" doc:"contacts that ended since the count began"`
}

// BrakeCause is what a brake has acted on.
type BrakeCause string

// Braked records that a brake has acted. It is kept until the channel or survey is resumed.
type Braked struct {
	At      time.Time  `json:"at" doc:"when it paused itself"`
	Cause   BrakeCause `json:"cause" enum:"opted_out,failed,reason" doc:"what passed its bound"`
	Reason  string     `json:"reason,omitempty" doc:"of the cause reason: which"`
	Count   int        `json:"count" doc:"how many of them opted out, failed or ended with the reason" example:"9"`
	Of      int        `json:"of" doc:"how many of the latest contacts were counted" example:"100"`
	Percent int        `json:"percent" doc:"the bound that was passed" example:"5"`
	Touched int        `json:"touched" doc:"contacts that ended since the count began, up to the act" example:"340"`
	Text    string     `json:"text" doc:"the same in words" example:"paused itself: 9 of the last 100 contacts opted out, the bound is 5 %"`
}
