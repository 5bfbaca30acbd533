package acd_test

import (
	"testing"
	"time"

	"weir"
	"weir/router"
	"weir/router/acd"
	"weir/router/resource"
)

// A job with a filter that parses never panics the engine, and a short filter
// is accepted.
func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{"Q#Spanish#M", "language=Spanish,gender!=M", "level>=3,level<5,vip", `zone="7"`, "a=,b", "Q##", "x>NaN", "y=Inf"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := acd.ParseFilter(text)
		if err != nil {
			if weir.CodeOf(err) != weir.CodeInvalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		s := router.New(router.DefaultSettings())
		now := time.Unix(0, 0)
		_, _ = s.Execute(router.PutQueue{ID: "q"}, now)
		_, err = s.Execute(router.PutJob{ID: "j", Spec: resource.JobSpec{ChannelID: "c", QueueID: "q", RequestedWorkerSelectors: filter}}, now)
		if err != nil && len(text) < 200 {
			t.Errorf("%q was read and is refused: %v", text, err)
		}
		if !acd.SameFilter(filter, filter) {
			t.Errorf("%q is not the same as itself", text)
		}
	})
}
