package surveybroker

import "weir"

// leading reports whether this process may write the decisions of rounds.
func (s *System) leading() bool { return s.role.Valid() }

// keepRole runs the surveys whenever this process has the role.
func (s *System) keepRole() {
	s.role.Run(s.roleCtx, func(l weir.Lease) {
		s.logger.Info("survey broker role acquired", "epoch", l.Epoch)
		s.metrics.leading.Set(1)
		s.post(roleAcquired{})
		if s.role.Keep(s.roleCtx, l) {
			s.logger.Warn("survey broker role lost", "epoch", l.Epoch)
			s.metrics.leading.Set(0)
			s.post(roleLost{})
		}
	})
}
