package surveys

import "context"

// DecideImport decides to commit an import and makes n of its respondents
// visible, as if the process ended then.
func (s *Store) DecideImport(ctx context.Context, survey, imp int64, n int) error {
	_, err := s.decideImport(ctx, survey, imp, importCommitting, importCommitted)
	if err == nil {
		_, err = s.stepImport(ctx, imp, n)
	}
	return err
}
