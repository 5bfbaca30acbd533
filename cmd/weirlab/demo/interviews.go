package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	bodies "weir/api"
	"weir/client"
	"weir/cmd/weirlab/machine"
)

// The last part: interviewers question people, over a channel that leads to Weir's
// own router. Each interviewer speaks one language.
const (
	people            = "people"
	interviewees      = 40
	interviewers      = 4
	interviewLimit    = 30 * time.Second
	interviewTime     = 100 * time.Millisecond
	notAtHome         = 5 // every fifth is not at home the first time
	routerVersion     = "2023-11-01"
	interviewLanguage = "language"
)

// staff are the interviewers.
type staff struct {
	show    *demonstration
	pace    pace
	asked   atomic.Int64
	missed  atomic.Int64
	trouble sync.Map // errors
}

// interviews runs a survey by interviewers, and checks that everybody was asked
// exactly once.
func (s *demonstration) interviews(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.pace().atLeast(interviewLimit, interviewLimit))
	defer cancel()
	s.say("Now %[2]d interviewers question %[1]d people, each in a language that both speak.", interviewees, interviewers)
	staff := &staff{show: s, pace: s.options.pace()}
	if err := staff.hire(ctx); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range interviewers {
		all.Go(func() { staff.work(working, interviewer(i)) })
	}
	err := staff.ask(ctx)
	stop()
	all.Wait()
	if err != nil {
		return fmt.Errorf("interviews: %w", err)
	}
	stats, err := s.broker.api.GetSurveyStats(ctx, "interviews")
	if err != nil {
		return err
	}
	s.interviewed = fmt.Sprintf("%d of %d interviews were held, %d people were not at home the first time.",
		stats.Statuses["completed"], interviewees, staff.missed.Load())
	if stats.Statuses["completed"] != interviewees || staff.asked.Load() != interviewees {
		s.unasked = fmt.Sprintf("%d of %d people were interviewed, %d interviews were held", stats.Statuses["completed"], interviewees, staff.asked.Load())
	}
	staff.trouble.Range(func(what, _ any) bool {
		s.unasked = fmt.Sprint(what)
		return false
	})
	return nil
}

func interviewer(i int) string { return fmt.Sprintf("interviewer-%d", i+1) }

func languages() []string { return []string{"Spanish", "English"} }

// hire creates the queue, the interviewers and the channel.
func (f *staff) hire(ctx context.Context) error {
	if err := f.router(ctx, http.MethodPatch, "distributionPolicies/turns", map[string]any{
		"offerExpiresAfterSeconds": 60, "mode": map[string]any{"kind": "longestIdle"},
	}, nil); err != nil {
		return err
	}
	if err := f.router(ctx, http.MethodPatch, "queues/interviews", map[string]any{"distributionPolicyId": "turns"}, nil); err != nil {
		return err
	}
	for i := range interviewers {
		err := f.router(ctx, http.MethodPatch, "workers/"+interviewer(i), map[string]any{
			"queues": []string{"interviews"}, "capacity": 1, "availableForOffers": true,
			"labels":   map[string]any{languages()[i%2]: true},
			"channels": []map[string]any{{"channelId": "contact", "capacityCostPerJob": 1}},
		}, nil)
		if err != nil {
			return err
		}
	}
	_, err := f.show.broker.api.PutChannel(ctx, people, client.ChannelBody{
		Type: "workers", Capacity: 2 * interviewers, Settings: map[string]any{"queue": "interviews", "selectors": interviewLanguage + "=*"},
	}, client.PutChannelParams{})
	return err
}

// ask runs the survey to its end.
func (f *staff) ask(ctx context.Context) error {
	api := f.show.broker.api
	if _, err := api.PutSurvey(ctx, "interviews", client.SurveyBody{
		Title: "Interviews", SurveyDefinition: bodies.SurveyDefinition{
			Labels: []string{interviewLanguage},
			Schedule: client.ScheduleSpec{
				TimeZone: "UTC", Weekdays: []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
				Windows: []client.WindowSpec{{From: "00:00", To: "24:00"}},
			},
			Modes:          map[bodies.Mode]client.ModeSpec{"cati": {Channel: people, Retries: f.pace.delay(time.Second)}},
			Arms:           []client.Arm{{Modes: []bodies.Mode{"cati"}}},
			Questionnaires: map[string]map[bodies.Mode][]client.Content{"main": {"cati": {{Messages: []string{"Ask how the water is"}}}}},
		},
	}, client.PutSurveyParams{}); err != nil {
		return err
	}
	var list []client.RespondentBody
	for i := range interviewees {
		list = append(list, client.RespondentBody{Phone: fmt.Sprintf("+1555%07d", 9_000_000+i), Attributes: map[string]any{interviewLanguage: languages()[i%2]}})
	}
	if _, err := api.PostRespondents(ctx, "interviews", client.RespondentsBody{Respondents: list}, client.PostRespondentsParams{}); err != nil {
		return err
	}
	if _, err := api.LaunchSurvey(ctx, "interviews", client.LaunchSurveyParams{}); err != nil {
		return err
	}
	for {
		switch survey, err := api.GetSurvey(ctx, "interviews"); {
		case err != nil:
			return err
		case survey.State == "done":
			return nil
		}
		if !machine.Sleep(ctx, interviewTime) {
			return fmt.Errorf("not done after %s", interviewLimit)
		}
	}
}

// work is the loop of an interviewer: accept an offer, ask, record the answer, repeat.
func (f *staff) work(ctx context.Context, id string) {
	for turn := 0; machine.Sleep(ctx, f.pace.atLeast(interviewTime/4, interviewTime/2)); {
		var worker struct {
			Offers []struct {
				OfferID string `json:"offerId"`
				JobID   string `json:"jobId"`
			} `json:"offers"`
		}
		if f.router(ctx, http.MethodGet, "workers/"+id, nil, &worker) != nil {
			continue
		}
		for _, o := range worker.Offers {
			turn++
			if err := f.interview(ctx, id, o.OfferID, o.JobID); err != nil && ctx.Err() == nil {
				f.trouble.Store(err.Error(), true)
			}
		}
	}
}

// interview accepts an offer and holds the interview, unless the person is not at home.
func (f *staff) interview(ctx context.Context, worker, offer, job string) error {
	var taken struct {
		AssignmentID string `json:"assignmentId"`
	}
	if err := f.router(ctx, http.MethodPost, "workers/"+worker+"/offers/"+offer+":accept", map[string]any{}, &taken); err != nil {
		return err
	}
	var about struct {
		Labels struct {
			Respondent string `json:"respondent"`
			Attempt    any    `json:"attempt"`
		} `json:"labels"`
	}
	if err := f.router(ctx, http.MethodGet, "jobs/"+job, nil, &about); err != nil {
		return err
	}
	disposition := "completed"
	if fmt.Sprint(about.Labels.Attempt) == "1" && f.missed.Add(1) <= interviewees/notAtHome {
		disposition = "no_answer"
	} else {
		if fmt.Sprint(about.Labels.Attempt) == "1" {
			f.missed.Add(-1)
		}
		machine.Sleep(ctx, f.pace.atLeast(interviewTime/2, interviewTime))
		f.asked.Add(1)
		_, err := f.show.broker.api.PostDisposition(ctx, "interviews", about.Labels.Respondent, client.HearingBody{
			Disposition: "completed", Answers: map[string]any{"water": "good"},
		})
		if err != nil {
			return err
		}
	}
	at := "jobs/" + job + "/assignments/" + taken.AssignmentID
	if err := f.router(ctx, http.MethodPost, at+":complete", map[string]any{}, nil); err != nil {
		return err
	}
	return f.router(ctx, http.MethodPost, at+":close", map[string]any{"dispositionCode": disposition}, nil)
}

// router makes a request to the router's API.
func (f *staff) router(ctx context.Context, method, path string, body, out any) error {
	return f.show.broker.api.Do(ctx, client.Request{
		Method: method, Path: "/routing/" + path, Query: url.Values{"api-version": {routerVersion}}, Body: body,
	}, out)
}
