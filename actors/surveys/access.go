package surveys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/internal/failpoint"
	"weir/people"
	"weir/surveys"
	"weir/surveys/pacing"
	"weir/surveys/respondents"
)

// access is how the parts of the survey broker reach the store and the channels' brokers.
// Its reads are bounded by ioTimeout.
type access struct {
	Options
	plans    *planCache
	findings *findings
	brakes   *brakes
	zones    *people.Zones
	atOnce   *atOnce
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

// channelStates returns the stored channel states. A channel that was never checked has
// none.
func (a *access) channelStates(ctx context.Context) (map[weir.ChannelID]surveys.ChannelState, error) {
	list, err := call(ctx, a.Store.ChannelStates)
	states := make(map[weir.ChannelID]surveys.ChannelState, len(list))
	for _, st := range list {
		states[st.Channel] = st
	}
	return states, err
}

// eachSurvey reads the surveys of the given states, page by page.
func (a *access) eachSurvey(ctx context.Context, states []surveys.State, do func(surveys.Survey)) error {
	for after := ""; ; {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Survey, error) {
			return a.Store.Surveys(ctx, states, after, surveyPage)
		})
		if err != nil {
			return fmt.Errorf("read the surveys: %w", err)
		}
		for i := range page {
			do(page[i])
		}
		if len(page) < surveyPage {
			return nil
		}
		after = page[len(page)-1].Name
	}
}

// readContact reads a contact.
func (a *access) readContact(ctx context.Context, ref weir.Ref) (weir.Contact, error) {
	c, _, err := call2(ctx, func(ctx context.Context) (weir.Contact, []weir.Attempt, error) { return a.Store.Contact(ctx, ref) })
	return c, err
}

// readContacts reads the latest contacts of the respondents of a page that which selects. It leaves out
// contacts that were deleted.
func (a *access) readContacts(ctx context.Context, page []surveys.Respondent, which func(*surveys.Respondent) bool) (map[weir.Ref]weir.Contact, error) {
	var refs []weir.Ref
	for i := range page {
		if which(&page[i]) {
			refs = append(refs, page[i].Contact)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	list, err := lookup(ctx, a.Store.ContactsByRef, refs)
	if err != nil {
		return nil, fmt.Errorf("read contacts: %w", err)
	}
	found := make(map[weir.Ref]weir.Contact, len(list))
	for _, c := range list {
		found[c.Ref] = c
	}
	return found, nil
}

// hasContact reports whether a respondent has a contact whose outcome is not known.
func hasContact(r *surveys.Respondent) bool { return r.Progress.Contact != surveys.Idle }

// loadMinute loads into minute what a survey began in the last minute.
func (a *access) loadMinute(ctx context.Context, survey int64, minute *pacing.MinuteLimit, now time.Time) error {
	counts, err := call(ctx, func(ctx context.Context) (map[time.Time]int, error) {
		return a.Store.EnqueuedSince(ctx, survey, now.Add(-time.Minute))
	})
	if err != nil {
		return fmt.Errorf("read recent starts: %w", err)
	}
	for _, at := range slices.SortedFunc(maps.Keys(counts), time.Time.Compare) {
		minute.Add(at, counts[at])
	}
	return nil
}

// readOutbox reads a page of outbox entries with a greater id.
func (a *access) readOutbox(ctx context.Context, after int64) ([]surveys.OutboxEntry, error) {
	page, err := call(ctx, func(ctx context.Context) ([]surveys.OutboxEntry, error) {
		return a.Store.OutboxEntries(ctx, after, outboxPage)
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return page, nil
}

// storeWork makes moves durable.
func (a *access) storeWork(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	failpoint.Hit("survey.before")
	written, err := a.Store.Work(ctx, w)
	if err == nil {
		failpoint.Hit("survey.committed")
	}
	return written, err
}

// commitWork commits work of a round.
func (a *access) commitWork(ctx context.Context, work surveys.Work) (surveys.Written, error) {
	written, err := lookup(ctx, a.storeWork, work)
	if err != nil {
		return written, fmt.Errorf("write moves: %w", err)
	}
	return written, nil
}

// cancelContact cancels a contact and reports whether the change may be written. A
// contact that is done or deleted needs nothing. Nor does one that is in flight
// by now, unless evenInFlight is set: the respondent may be talking and must not be
// cut off.
func (a *access) cancelContact(ctx context.Context, ref weir.Ref, evenInFlight bool) bool {
	ctx, end := context.WithTimeout(ctx, cancelTimeout)
	defer end()
	if !evenInFlight {
		if c, _, err := a.Store.Contact(ctx, ref); err == nil && c.State.InFlight() {
			return true
		}
	}
	_, err := a.Channels.Cancel(ctx, ref)
	if err == nil || weir.CodeOf(err) == weir.CodeNotFound {
		return true
	}
	c, _, err := a.Store.Contact(ctx, ref)
	return err == nil && c.State == weir.Done || weir.CodeOf(err) == weir.CodeNotFound
}

// announce reports enqueued contacts to the channels' brokers.
func (a *access) announce(fresh []weir.Contact) {
	by := map[weir.ChannelID][]weir.Contact{}
	for _, c := range fresh {
		by[c.Channel] = append(by[c.Channel], c)
	}
	for id, list := range by {
		a.Channels.Announce(id, list)
	}
}

// recordMetrics updates the metrics, and what the survey's brake counts, for a change that
// was written.
func (a *access) recordMetrics(survey *surveys.Survey, c *surveys.Change) {
	m := &c.Move
	a.brakes.record(survey, m)
	a.noteZone(survey, m)
	switch {
	case c.NewAttempt && m.Was.Status == surveys.Pending:
		a.Metrics.started.WithLabelValues(survey.Name).Inc()
	case c.NewAttempt:
		a.Metrics.retried.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.FailedSteps > m.Was.FailedSteps {
		a.Metrics.failedSteps.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.Status.Final() && !m.Was.Status.Final() {
		a.Metrics.finished.WithLabelValues(survey.Name, string(m.Is.Status)).Inc()
	}
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
	case mode.Voice():
		need, word = channels.Voice, "calls"
	}
	if ok && t.Carries(need) {
		return ""
	}
	return fmt.Sprintf("%s needs a channel for %s; channel %q is of type %s", mode, word, ch.Name, ch.Type)
}

func (a *access) newStepper(sv *surveyState, now time.Time, channels map[weir.ChannelID]weir.Channel, named map[string]weir.ChannelID) *surveys.Stepper {
	return &surveys.Stepper{
		Survey: &sv.survey, Plan: sv.plan, Now: now, Random: a.Random, Tokens: a.Tokens,
		ChannelFor: func(m surveys.Mode) (weir.Channel, bool) {
			id := named[sv.plan.Channels[m]]
			ch := channels[id]
			return ch, id != 0 && !ch.Deleting && !ch.Deleted && a.mismatch(m, ch) == ""
		},
		ChannelName: func(id weir.ChannelID) string { return channels[id].Name },
		Zone:        func(r *surveys.Respondent) *time.Location { return a.zoneOf(sv.plan, r) },
		OnPanic: func(p any) {
			a.Metrics.failedSteps.WithLabelValues(sv.survey.Name).Inc()
			supervise.LogPanic(a.Logger, a.Metrics.panics, "survey rules panicked", p, "survey", sv.survey.Name)
		},
	}
}

// call bounds one call of the store by ioTimeout.
func call[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}

// call2 is call for two results.
func call2[T, U any](ctx context.Context, do func(context.Context) (T, U, error)) (T, U, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}

// lookup is call for a method with one argument.
func lookup[A, T any](ctx context.Context, do func(context.Context, A) (T, error), arg A) (T, error) {
	return call(ctx, func(ctx context.Context) (T, error) { return do(ctx, arg) })
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

// noteZone notes, and logs once for a survey, that a contact goes to a respondent whose time_zone is no
// zone, as it may have been stored before such names were refused: the rules for the sake of the
// person go by the phone number then.
func (a *access) noteZone(survey *surveys.Survey, m *surveys.Move) {
	if m.Enqueue == nil || m.Enqueue.TimeZone == "" {
		return
	}
	if _, ok := a.zones.Load(m.Enqueue.TimeZone); ok {
		return
	}
	if _, noted := a.findings.zoneless.LoadOrStore(survey.ID, m.Is.ID); !noted {
		a.Logger.Warn("time_zone of a respondent is no IANA time zone; the hours are those of the phone number", "survey", survey.Name, "respondent", m.Is.ID.String())
	}
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
