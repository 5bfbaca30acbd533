package web

import (
	"context"
	"net/http"
	"time"
)

// Hold keeps Weir from dispatching anything until it is released.
type Hold interface {
	// Since returns when the hold began; zero: there is none.
	Since() time.Time
	// Release ends the hold, durably and for every process.
	Release(ctx context.Context) error
}

// HoldView reports whether Weir is held.
type HoldView struct {
	Held  bool       `json:"held" doc:"nothing is sent until DELETE /v1/hold"`
	Since *time.Time `json:"since,omitempty" doc:"when that began"`
}

func (s *service) holdRoutes() []*route {
	return []*route{
		{
			method: "GET", path: "/v1/hold", id: "get-hold", tag: "channels",
			summary: "Whether Weir was started with --paused and sends nothing", handle: s.getHold,
			answers: []answer{{http.StatusOK, "whether Weir sends", typeOf[HoldView]()}},
		},
		{
			method: "DELETE", path: "/v1/hold", id: "release-hold", tag: "channels",
			summary:     "Resume a Weir that was started with --paused",
			description: "Channels, surveys, deliveries of events and calls of functions go on. Channels that are paused themselves stay paused.",
			handle:      s.releaseHold,
			answers:     []answer{{http.StatusOK, "Weir sends", typeOf[HoldView]()}},
		},
	}
}

func (s *service) heldSince() time.Time {
	if s.Hold == nil {
		return time.Time{}
	}
	return s.Hold.Since()
}

func (s *service) getHold(*call) (reply, error) {
	v := HoldView{}
	if since := s.heldSince(); !since.IsZero() {
		v = HoldView{Held: true, Since: &since}
	}
	return reply{status: http.StatusOK, body: v}, nil
}

func (s *service) releaseHold(c *call) (reply, error) {
	if s.Hold != nil {
		if err := s.Hold.Release(c); err != nil {
			return reply{}, err
		}
	}
	return s.getHold(c)
}
