package routing

// Rematch takes a job's offers back and matches it again, for benchmarks of
// the match alone.
func Rematch(s *State, id string) {
	j := s.jobs[id]
	s.out, s.live = s.out[:0], true
	s.revokeAll(j)
	s.match()
	s.live = false
}
