package api

import (
	"weir/web/route"
)

// Routes returns the route table.
func (s *Service) Routes() []*route.Route {
	all := append(s.channelRoutes(), s.contactRoutes()...)
	all = append(all, s.incomingRoute(), s.timelineRoute())
	all = append(all, s.whoRoutes()...)
	all = append(all, s.holdRoutes()...)
	if s.Minutes != nil {
		all = append(all, s.minuteRoutes()...)
	}
	if s.Dead != nil {
		all = append(all, s.deadRoutes()...)
	}
	if s.Events != nil {
		all = append(all, s.eventRoutes()...)
	}
	if s.Webhooks != nil {
		all = append(all, s.webhookRoutes()...)
	}
	if s.Trail != nil {
		all = append(all, s.auditRoutes()...)
	}
	return all
}
