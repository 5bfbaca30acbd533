package people

import (
	"net/http"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	webapi "weir/web/api"
	"weir/web/httpjson"
	"weir/web/route"
)

// maxSkipped bounds the list: surveys can be as many as clients name.
const maxSkipped = 10_000

// skippedRoutes serves how often rules have kept contacts from being dispatched.
type skippedRoutes struct {
	skipped  people.SkipCounter
	channels webapi.ChannelReader
	now      func() time.Time
}

func (r *skippedRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/skipped", ID: "list-skipped", Tag: "people", Summary: "Count what rules have kept from being dispatched",
		Description: "For each channel, survey and rule for the sake of the person, or limit that channels share: how many contacts were suppressed, and how often one was delayed. Claims that only wait for a shared limit of their channel are not counted.",
		Query: []httpjson.Parameter{
			{Name: "days", Kind: "integer", Minimum: 1, Maximum: 1000, Default: int64(30), Description: "how many days, today the last"},
			{Name: "channel", Kind: "string", Description: "of this channel alone"}, {Name: "survey", Kind: "string", Description: "of this survey alone"},
		},
		Handle:  r.list,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "up to 10,000 sums", Body: route.TypeOf[api.SkippedList]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

func (r *skippedRoutes) list(c *route.Call) (route.Reply, error) {
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	today := weir.DayOf(r.now())
	f := people.SkippedFilter{From: today - c.Query.Int("days") + 1, To: today, Survey: c.Query.Text("survey")}
	if name := c.Query.Text("channel"); name != "" {
		if err := c.RequireReach(operators.Channel(name)); err != nil {
			return route.Reply{}, err
		}
		channel, err := r.channels.Channel(c, name)
		if err != nil {
			return route.Reply{}, err
		}
		f.Channel = channel.ID
	}
	list, err := r.skipped.Skipped(c, f, maxSkipped)
	if err != nil {
		return route.Reply{}, err
	}
	names := webapi.NewChannelNames(r.channels)
	out := api.SkippedList{Skipped: make([]api.SkippedView, 0, len(list))}
	for _, x := range list {
		name, err := names.Of(c, x.Channel)
		if err != nil {
			return route.Reply{}, err
		}
		if c.Reaches(operators.Channel(name)) {
			out.Skipped = append(out.Skipped, api.SkippedView{Channel: name, Survey: x.Survey, Rule: string(x.Rule), Suppressed: x.Suppressed, Delayed: x.Delayed})
		}
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}
