package surveys

import (
	"sync"
	"time"

	"weir"
	"weir/surveys"
)

// brakeCounts counts the contacts of surveys that ended, for their brakes. Rounds and reports
// count; rounds act. Nothing of it is stored: after a restart the counts begin anew. Its
// methods are safe for concurrent use.
type brakeCounts struct {
	mu      sync.Mutex
	windows map[int64]*brakeWindow
}

type brakeWindow struct {
	weir.BrakeWindow
	version int64 // the latest of the survey that was seen
}

func newBrakes() *brakeCounts { return &brakeCounts{windows: map[int64]*brakeWindow{}} }

// window returns the window of a survey, configured by its latest version. The caller holds mu.
func (b *brakeCounts) window(s *surveys.Survey) *brakeWindow {
	w := b.windows[s.ID]
	if w == nil {
		w = &brakeWindow{}
		b.windows[s.ID] = w
	}
	if s.Version > w.version {
		w.version = s.Version
		w.Configure((*weir.Brake)(s.Definition.Brake), s.State != surveys.Running)
	}
	return w
}

// see applies a version of a survey: a pause or a resume, or another brake.
func (b *brakeCounts) see(s *surveys.Survey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window(s)
}

// record counts what a change that was written says: contacts that ended, and whether the
// respondent opted out. A respondent who had refused elsewhere, or was never contacted, did not
// opt out of this survey.
func (b *brakeCounts) record(s *surveys.Survey, m *surveys.Move) {
	if s.State == surveys.Done {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w, refused := b.window(s), false
	for i := range m.Log {
		if e := &m.Log[i]; e.Event == string(surveys.ContactEnded) {
			w.Ended(e.Outcome, e.Reason, m.Was.ID.String())
			refused = refused || e.Outcome == weir.Suppressed
		}
	}
	if m.Is.OptedOut && !m.Was.OptedOut && !refused && (m.Was.Serial > 1 || m.Was.Serial == 1 && m.Was.Progress.Contact != surveys.Waiting) {
		w.Contacted(m.Was.ID.String())
		w.OptedOut(m.Was.ID.String())
	}
}

// verdict returns what passes its bound in a running survey; nil while nothing does.
func (b *brakeCounts) verdict(s *surveys.Survey, now time.Time) *weir.Braked {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.window(s).Verdict(now)
}

// figures returns the counts of a survey; nil without a brake, or if nothing was counted yet.
func (b *brakeCounts) figures(s *surveys.Survey) *weir.BrakeFigures {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.windows[s.ID] == nil {
		return nil
	}
	return b.window(s).Figures()
}

// forget drops the counts of a survey that is done or deleted.
func (b *brakeCounts) forget(survey int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.windows, survey)
}
