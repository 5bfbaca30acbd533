package surveys

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir"
	"weir/channels"
	"weir/people"
	"weir/surveys"
	"weir/surveys/respondents"
)

// access is how the parts of the survey broker reach the store and the channels' brokers.
// Its reads are bounded by ioTimeout.
type access struct {
	Options
	plans    *planCache
	findings *findings
	brakes   *brakeCounts
	zones    *people.Zones
	messages *messages
	freed    *freed
}

// compile returns the compiled definition of a survey, or what is wrong with it.
func (a *access) compile(s *surveys.Survey) (*surveys.Plan, []weir.FieldError) {
	return a.plans.compile(s, a.Defaults)
}

// hoursOf returns the hours in which the respondents of a survey may be contacted.
func (a *access) hoursOf(plan *surveys.Plan) *surveys.Hours {
	if a.People == nil {
		return surveys.NewHours(plan, nil, a.zones)
	}
	return surveys.NewHours(plan, a.People.Purposes(), a.zones)
}

// findings holds results of rounds that the API uses to explain a survey. Before the
// first round it is empty; explanations then say what a round would do.
type findings struct {
	freedPerMinute sync.Map // slots that become free per minute, float64 by weir.ChannelID
	skipped        sync.Map // until when surveys whose rules failed are skipped, time.Time by survey id
	zoneless       sync.Map // a respondent whose time_zone is no zone, surveys.RespondentID by survey id
}

// rate returns how many slots of a channel became free per minute.
func (f *findings) rate(id weir.ChannelID) float64 {
	rate, _ := f.freedPerMinute.Load(id)
	perMinute, _ := rate.(float64)
	return perMinute
}

// skippedUntil returns until when a survey is skipped; zero if it is not.
func (f *findings) skippedUntil(survey int64) time.Time {
	until, _ := f.skipped.Load(survey)
	at, _ := until.(time.Time)
	return at
}

// mismatch returns why a channel cannot carry what a mode needs, or "". A launch
// has checked this, but another channel may have been created under the same
// name since.
func (a *access) mismatch(mode surveys.Mode, ch weir.Channel) string {
	t, ok := a.Types.Type(ch.Type)
	need, word := channels.Text, "texts"
	switch {
	case mode == surveys.CATI:
		need, word = channels.Any, "people"
	case surveys.Voice(mode):
		need, word = channels.Voice, "calls"
	}
	if ok && t.Carries(need) {
		return ""
	}
	return fmt.Sprintf("%s needs a channel for %s; channel %q is of type %s", mode, word, ch.Name, ch.Type)
}

// concurrently calls do for each element of a list, at most maxConcurrent at a
// time, and waits for all.
func concurrently[T any](list []T, do func(int, T)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, maxConcurrent)
	for i, x := range list {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			do(i, x)
		})
	}
	wg.Wait()
}

// zoneless returns a respondent whose time_zone is no zone, as a contact has shown; 0: none is known, or it
// was corrected since.
func (a *access) zoneless(ctx context.Context, survey int64) (surveys.RespondentID, error) {
	noted, ok := a.findings.zoneless.Load(survey)
	if !ok {
		return 0, nil
	}
	id, _ := noted.(surveys.RespondentID)
	r, err := a.Store.Respondent(ctx, survey, id)
	if notFoundIsNone(err) != nil {
		return 0, err
	}
	if name := r.Attributes[respondents.FieldTimeZone]; err == nil && name != "" {
		if _, ok := a.zones.Load(name); !ok {
			return id, nil
		}
	}
	a.findings.zoneless.Delete(survey)
	return 0, nil
}

// notFoundIsNone returns an error unless it says that there is no such thing.
func notFoundIsNone(err error) error {
	if weir.CodeOf(err) == weir.CodeNotFound {
		return nil
	}
	return err
}

// zoneOf returns the time zone of a respondent: that of the person, or that of the survey.
func (a *access) zoneOf(plan *surveys.Plan, r *surveys.Respondent) *time.Location {
	return a.zones.Of(r.Attributes[respondents.FieldTimeZone], people.Canonical(r.Phone), plan.Schedule.Zone())[0]
}
