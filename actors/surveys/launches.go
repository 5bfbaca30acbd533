package surveys

import (
	"sync"
	"time"

	"weir/surveys"
)

// Limits of launches.
const (
	launchTimeout    = time.Hour
	launchResultKept = 5 * time.Minute // how long a result is kept that no client waited for
	launchRetryAfter = 5 * time.Second
)

// launchRun is a launch in progress. It reads every respondent, which may take
// longer than a client waits, so it continues without the client.
type launchRun struct {
	survey   surveys.Survey // as it was before
	skip     bool           // see System.Launch
	waiters  int
	done     chan struct{}
	result   surveys.Survey
	err      error
	finished time.Time // when the launch finished; zero: not yet
}

// launches holds the launches of this process, by survey.
type launches struct {
	mu     sync.Mutex
	runs   map[int64]*launchRun
	closed bool
}

func newLaunches() *launches { return &launches{runs: map[int64]*launchRun{}} }

// join returns the running launch of a survey, or a finished one of its present
// version and with the same skip. Otherwise begin starts one. It returns false after
// close.
func (l *launches) join(survey surveys.Survey, skip bool, begin func(*launchRun)) (*launchRun, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, x := range l.runs {
		if !x.finished.IsZero() && time.Since(x.finished) > launchResultKept {
			delete(l.runs, id)
		}
	}
	x := l.runs[survey.ID]
	if x == nil || x.skip != skip || !x.finished.IsZero() && x.survey.Version != survey.Version {
		if l.closed {
			return nil, false
		}
		x = &launchRun{survey: survey, skip: skip, done: make(chan struct{})}
		l.runs[survey.ID] = x
		begin(x)
	}
	x.waiters++
	return x, true
}

// leave ends a client's wait for a launch. A result is returned once: by the
// next launch the respondents may have changed.
func (l *launches) leave(x *launchRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.waiters--
	if !x.finished.IsZero() && l.runs[x.survey.ID] == x {
		delete(l.runs, x.survey.ID)
	}
}

// finish stores the result of a launch.
func (l *launches) finish(x *launchRun, out surveys.Survey, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.result, x.err, x.finished = out, err, time.Now()
	if x.waiters > 0 && l.runs[x.survey.ID] == x {
		delete(l.runs, x.survey.ID)
	}
	close(x.done)
}

// close prevents further launches.
func (l *launches) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}
