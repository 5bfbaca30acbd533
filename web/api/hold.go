package api

import (
	"net/http"
	"time"

	"weir/web/route"
	"weir/web/wire"
)

// HoldView reports whether Weir is held.
type HoldView struct {
	Held  bool       `json:"held" doc:"nothing is sent until DELETE /v1/hold"`
	Since *time.Time `json:"since,omitempty" doc:"when that began"`
}

func (s *Service) holdRoutes() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/hold", ID: "get-hold", Tag: "channels",
			Summary: "Get whether dispatching is on hold (serve --paused)", Handle: s.getHold,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "whether Weir sends", Body: route.TypeOf[HoldView]()}},
		},
		{
			Method: "DELETE", Path: "/v1/hold", ID: "release-hold", Tag: "channels",
			Summary:     "Resume dispatching after serve --paused",
			Description: "Channels, surveys, event deliveries and function calls resume. Channels that are paused themselves stay paused.",
			Handle:      s.releaseHold,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "Weir sends", Body: route.TypeOf[HoldView]()}},
		},
	}
}

func (s *Service) heldSince() time.Time {
	if s.Hold == nil {
		return time.Time{}
	}
	return s.Hold.Since()
}

func (s *Service) getHold(*route.Call) (route.Reply, error) {
	since := s.heldSince()
	return route.Reply{Status: http.StatusOK, Body: HoldView{Held: !since.IsZero(), Since: wire.Instant(since)}}, nil
}

func (s *Service) releaseHold(c *route.Call) (route.Reply, error) {
	if s.Hold != nil {
		if err := s.Hold.Release(c); err != nil {
			return route.Reply{}, err
		}
	}
	return s.getHold(c)
}
