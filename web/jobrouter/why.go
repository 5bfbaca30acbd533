package jobrouter

import (
	"net/http"
	"time"

	"weir/ops"
	"weir/routing"
	"weir/routing/resource"
)

type whyView struct {
	JobID   string `json:"jobId"`
	Why     string `json:"why,omitempty"`
	WhyCode string `json:"whyCode,omitempty"`
}

// why reports why a job waits. It is a separate route, an extension of Weir, so
// that the job resource stays as clients expect it.
func (s *service) why(c *call) (answer, error) {
	var why ops.Why
	found := false
	err := s.Engine.View(c.r.Context(), func(st *routing.State, _ time.Time) { why, found = st.Why(c.ids[0]) })
	if err == nil && !found {
		err = missing(resource.Job, c.ids[0])
	}
	return answer{status: http.StatusOK, body: whyView{c.ids[0], why.Text, string(why.Code)}}, err
}
