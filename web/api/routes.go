package api

import (
	"slices"

	"weir/web/route"
)

// Routes returns the route table.
func (s *Service) Routes() []*route.Route {
	return slices.Concat(
		s.channelRoutes(), s.contactRoutes(), []*route.Route{s.incomingRoute(), s.timelineRoute()}, s.whoRoutes(), s.holdRoutes(), s.processRoutes(),
		s.minuteRoutes(), s.deadRoutes(), s.eventRoutes(), s.webhookRoutes(), s.auditRoutes(),
	)
}
