package top

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"weir/client"
	"weir/cmd/weir/cli/app"
)

// maxSurveys is the maximum number of surveys in each poll.
const maxSurveys = 20

// poll reads what top shows. Channels are required; anything else that the token
// does not permit is left out.
func poll(ctx context.Context, clock *app.Clock, to *client.Client) (State, error) {
	s := State{Now: clock.Now().In(clock.Zone()), URL: to.URL(), Channels: []Channel{}, Surveys: []Survey{}}
	for c, err := range to.Channels(ctx, client.ListChannelsParams{}) {
		if err != nil {
			return s, err
		}
		s.Channels = append(s.Channels, Channel{
			Name: c.Channel, Type: c.Type, State: app.ChannelState(&c), Reason: c.StateReason, InFlight: c.InFlight, Capacity: c.Capacity,
			Sending: c.Sending, Active: c.Active, Unknown: c.Unknown, Queued: int64(c.Queued), Oldest: c.OldestQueuedAt,
		})
	}
	for _, read := range []func(context.Context, *client.Client, *State) error{pollMinutes, pollSurveys, pollRouter} {
		if err := read(ctx, to, &s); err != nil && (app.NoResponse(err) || ctx.Err() != nil) {
			return s, err
		}
	}
	return s, nil
}

// pollMinutes adds the numbers of the last complete minute.
func pollMinutes(ctx context.Context, to *client.Client, s *State) error {
	// The present minute is incomplete. Two are read, and the one before it is shown.
	p := client.ListMinutesParams{Since: s.Now.Add(-2 * time.Minute).UTC().Truncate(time.Minute), Step: "1m"}
	at := make(map[string]*Channel, len(s.Channels))
	for i := range s.Channels {
		at[s.Channels[i].Name] = &s.Channels[i]
	}
	for {
		page, err := to.ListMinutes(ctx, p)
		if err != nil {
			return err
		}
		// The last complete step.
		step := int(s.Now.Sub(page.Since)/time.Minute) - 1
		for i := range page.Channels {
			m := &page.Channels[i]
			if c := at[m.Channel]; c != nil && step >= 0 && step < min(len(m.Accepted), len(m.Finished)) {
				c.AcceptedPerMinute, c.FinishedPerMinute = m.Accepted[step], m.Finished[step]
			}
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			s.Minutes = true
			return nil
		}
	}
}

// pollSurveys adds the surveys that are launched and not done; running ones come first.
func pollSurveys(ctx context.Context, to *client.Client, s *State) error {
	for _, state := range []string{"running", "stopping", "paused"} {
		for v, err := range to.Surveys(ctx, client.ListSurveysParams{State: state, Limit: maxSurveys}) {
			if err != nil {
				return err
			}
			if len(s.Surveys) == maxSurveys {
				return nil
			}
			st, err := to.GetSurveyStats(ctx, v.Survey)
			if client.StatusOf(err) == http.StatusNotFound {
				continue // deleted in the meantime
			}
			if err != nil {
				return err
			}
			s.Surveys = append(s.Surveys, Survey{
				Name: v.Survey, State: string(st.State), Respondents: int64(st.Respondents), Over: int64(st.Respondents - st.Statuses["pending"] - st.Statuses["active"]),
				Target: int64(st.Target), Counted: int64(st.Counted), PerMinute: st.RatePerMinute, EndsAt: st.EndsAt, Open: st.Open,
			})
		}
	}
	return nil
}

// pollRouter adds the router's numbers, from the metrics of the process that
// answers: the lists of workers and jobs could be long.
func pollRouter(ctx context.Context, to *client.Client, s *State) error {
	text, err := to.Open(ctx, client.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }()
	r, err := parseRouterMetrics(text)
	if err != nil {
		return err
	}
	s.Router = r
	return nil
}

// parseRouterMetrics parses the router's numbers from metrics; nil: there is no router,
// or all its numbers are zero.
func parseRouterMetrics(text io.Reader) (*Router, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	r := &Router{Jobs: map[string]int64{}, Workers: map[string]int64{}}
	some := false
	for _, name := range []string{"weir_router_jobs", "weir_router_workers", "weir_router_offers_out", "weir_router_oldest_waiting_seconds"} {
		for _, m := range families[name].GetMetric() {
			state, value := "", m.GetGauge().GetValue()
			for _, label := range m.GetLabel() {
				state = label.GetValue() // the only label
			}
			switch name {
			case "weir_router_jobs":
				r.Jobs[state] = int64(value)
			case "weir_router_workers":
				r.Workers[state] = int64(value)
			case "weir_router_offers_out":
				r.Offers = int64(value)
			default:
				r.Oldest = time.Duration(value * float64(time.Second))
			}
			some = some || value > 0
		}
	}
	if !some {
		r = nil
	}
	return r, nil
}
