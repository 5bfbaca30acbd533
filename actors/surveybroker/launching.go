package surveybroker

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// Limits of launches.
const (
	launchTime  = time.Hour
	launchKept  = 5 * time.Minute // how long a result is kept that no client waited for
	launchAgain = 5 * time.Second
)

// launching is a launch in progress. It reads every respondent, which may take
// longer than a client waits, so it continues without the client.
type launching struct {
	survey  surveys.Survey // as it was before
	waiting int
	done    chan struct{}
	out     surveys.Survey
	err     error
	over    time.Time // when the launch finished; zero: not yet
}

// launches holds the launches of this process, by survey.
type launches struct {
	mu     sync.Mutex
	list   map[int64]*launching
	closed bool
}

func newLaunches() *launches { return &launches{list: map[int64]*launching{}} }

// join returns the running launch of a survey, or a finished one of its present
// version. Otherwise begin starts one. It returns false after close.
func (l *launches) join(survey surveys.Survey, begin func(*launching)) (*launching, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, x := range l.list {
		if !x.over.IsZero() && time.Since(x.over) > launchKept {
			delete(l.list, id)
		}
	}
	x := l.list[survey.ID]
	if x == nil || !x.over.IsZero() && x.survey.Version != survey.Version {
		if l.closed {
			return nil, false
		}
		x = &launching{survey: survey, done: make(chan struct{})}
		l.list[survey.ID] = x
		begin(x)
	}
	x.waiting++
	return x, true
}

// leave ends a client's wait for a launch. A result is returned once: by the
// next launch the respondents may have changed.
func (l *launches) leave(x *launching) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.waiting--
	if !x.over.IsZero() && l.list[x.survey.ID] == x {
		delete(l.list, x.survey.ID)
	}
}

// end stores the result of a launch.
func (l *launches) end(x *launching, out surveys.Survey, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.out, x.err, x.over = out, err, time.Now()
	if x.waiting > 0 {
		delete(l.list, x.survey.ID)
	}
	close(x.done)
}

// close prevents further launches.
func (l *launches) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// launch launches a survey and waits for the result as long as the client does.
func (s *System) launch(ctx context.Context, survey surveys.Survey, _ surveys.Step) (surveys.Survey, error) {
	x, ok := s.launches.join(survey, func(x *launching) {
		s.work.Go(func() {
			out, err := s.launchNow(survey)
			s.launches.end(x, out, err)
		})
	})
	if !ok {
		return survey, weir.Errorf(weir.CodeDraining, "this process is shutting down")
	}
	defer s.launches.leave(x)
	select {
	case <-x.done:
		return x.out, x.err
	case <-ctx.Done():
		return survey, &weir.Error{
			Code: weir.CodeUnavailable, RetryAfter: launchAgain, Cause: ctx.Err(),
			Message: "the launch takes long, as there are many respondents; it goes on, and who asks again hears what came of it",
		}
	}
}

// launchNow launches a survey, independent of any waiting client.
func (s *System) launchNow(survey surveys.Survey) (out surveys.Survey, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.metrics.panics.Inc()
			s.logger.Error("panic in the launch of a survey", "survey", survey.Name, "panic", supervise.PanicText(p), "stack", string(debug.Stack()))
			out, err = survey, weir.Errorf(weir.CodeInternal, "the launch failed")
		}
	}()
	ctx, cancel := context.WithTimeout(s.ctx, launchTime)
	defer cancel()
	return s.step(ctx, survey, surveys.Launch)
}
