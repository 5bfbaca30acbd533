package surveybroker

import (
	"sync"

	"weir"
	"weir/surveys"
)

// library is the cache of compiled definitions.
type library struct {
	mu    sync.Mutex
	plans map[int64]compiled
}

type compiled struct {
	version int64
	plan    *surveys.Plan
	wrong   []weir.FieldError
}

// shelf is the max number of plans in the cache. A full cache is cleared.
const shelf = 1000

func newLibrary() *library { return &library{plans: map[int64]compiled{}} }

// plan returns the compiled definition of a survey. It compiles each version
// once.
func (l *library) plan(s *surveys.Survey, def surveys.Defaults) (*surveys.Plan, []weir.FieldError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.plans[s.ID]; ok && c.version == s.Version {
		return c.plan, c.wrong
	}
	plan, wrong := s.Definition.Compile(def)
	if len(l.plans) >= shelf {
		clear(l.plans)
	}
	l.plans[s.ID] = compiled{s.Version, plan, wrong}
	return plan, wrong
}
