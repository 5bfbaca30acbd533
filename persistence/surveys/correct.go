package surveys

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/columns"
	"weir/surveys"
)

// Events of the log about changes by users.
const (
	logCorrected = "corrected"
	logRemoved   = "removed"
)

// Correct implements [surveys.Importer].
func (s *Importer) Correct(ctx context.Context, survey int64, list []surveys.Correction) ([]surveys.Corrected, error) {
	if len(list) > maxAdded {
		return nil, weir.Errorf(weir.CodeInvalid, "at most %d respondents at once", maxAdded)
	}
	out := make([]surveys.Corrected, len(list))
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		// Locked before the respondents, in the order of stepSorting.
		quotas, err := holdSurvey(ctx, tx, s.Dialect.ForShare, survey)
		if err != nil {
			return err
		}
		ids := make([]surveys.RespondentID, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		found, err := s.lockRespondents(ctx, tx, survey, ids)
		if err != nil {
			return err
		}
		before := maps.Clone(found)
		for i, c := range list {
			was, ok := found[c.ID]
			if !ok {
				out[i] = surveys.Corrected{Err: weir.Errorf(weir.CodeNotFound, "no such respondent")}
				continue
			}
			is, changed, err := c.Apply(was, quotas)
			if err == nil && is.Phone != was.Phone {
				err = s.changePhone(ctx, tx, &is)
			}
			switch {
			case err != nil && weir.CodeOf(err) == weir.CodeInternal:
				return err
			case err != nil:
				is = was
			case changed: // one revision, however often the list names the respondent
				is.Rev, is.Updated = before[c.ID].Rev+1, columns.Instant(columns.Micros(time.Now()))
				found[c.ID] = is
			}
			out[i] = surveys.Corrected{Respondent: is, Changed: changed && err == nil, Err: err}
		}
		var moves []*move
		changes := sumChanges{}
		for _, id := range slices.Sorted(maps.Keys(found)) {
			was, is := before[id], found[id]
			if is.Rev == was.Rev {
				continue
			}
			moves = append(moves, &move{Move: &surveys.Move{Was: was}, is: is})
			changes[was.Group()]--
			changes[is.Group()]++
		}
		return s.writeCorrected(ctx, tx, survey, moves, changes)
	})
	if err != nil {
		return nil, s.Failure("correct respondents", err)
	}
	return out, nil
}

// lockRespondents reads respondents under lock, in the order of their ids.
func (s *Importer) lockRespondents(ctx context.Context, tx *sqlx.Tx, survey int64, ids []surveys.RespondentID) (map[surveys.RespondentID]surveys.Respondent, error) {
	found := map[surveys.RespondentID]surveys.Respondent{}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for some := range slices.Chunk(ids, columns.KeysPerList) {
		var rows []respondentRow
		err := tx.SelectContext(ctx, &rows, someSQL+columns.Marks(len(some))+" AND survey_id = ? ORDER BY id"+s.Dialect.ForUpdate, append(columns.Arguments(some), survey)...)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			r, err := rows[i].respondent()
			if err != nil {
				return nil, err
			}
			found[r.ID] = r
		}
	}
	return found, nil
}

// changePhone changes a number, which is unique in the survey, in every notation.
func (s *Importer) changePhone(ctx context.Context, tx *sqlx.Tx, r *surveys.Respondent) error {
	numbers := notations(r.Phone)
	var others int
	err := tx.GetContext(ctx, &others, "SELECT COUNT(*) FROM respondents WHERE survey_id = ? AND id <> ? AND phone IN "+columns.Marks(len(numbers)),
		append([]any{r.Survey, int64(r.ID)}, numbers...)...)
	if err == nil && others == 0 {
		_, err = tx.ExecContext(ctx, "UPDATE respondents SET phone = ? WHERE id = ?", r.Phone, int64(r.ID))
	}
	if others > 0 || s.Database.Duplicate(err) {
		return weir.Errorf(weir.CodeConflict, "another respondent of the survey has this number")
	}
	return err
}

func (s *Importer) writeCorrected(ctx context.Context, tx *sqlx.Tx, survey int64, moves []*move, changes sumChanges) error {
	if len(moves) == 0 {
		return nil
	}
	done, err := tx.ExecContext(ctx, s.Dialect.UpdateRespondents, encodeMoves(moves))
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != int64(len(moves)) {
		return errors.Join(err, fmt.Errorf("%d respondents were corrected, want %d", n, len(moves)))
	}
	if err := s.adds.addSums(ctx, tx, survey, changes); err != nil {
		return err
	}
	for _, m := range moves {
		if err := s.logChange(ctx, tx, &m.is, logCorrected); err != nil {
			return err
		}
	}
	return nil
}

// logChange adds an entry about a user's change to the log.
func (s *Importer) logChange(ctx context.Context, tx *sqlx.Tx, r *surveys.Respondent, event string) error {
	now := time.Now()
	_, err := tx.ExecContext(ctx, "INSERT INTO survey_log ("+logColumns+") VALUES "+columns.Marks(12),
		r.Survey, s.NextID(now), columns.Micros(now), int64(r.ID), event, "", "", 0, "", "", string(r.Disposition), string(r.Disposition))
	return err
}

// RemoveRespondent implements [surveys.Importer]. Outbox entries about a respondent that
// no longer exists are dropped by the broker.
func (s *Importer) RemoveRespondent(ctx context.Context, survey int64, id surveys.RespondentID) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		found, err := s.lockRespondents(ctx, tx, survey, []surveys.RespondentID{id})
		if err != nil {
			return err
		}
		r, ok := found[id]
		if !ok {
			return weir.Errorf(weir.CodeNotFound, "no such respondent")
		}
		if err := r.CheckRemovable(); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM respondents WHERE id = ?", int64(id)); err != nil {
			return err
		}
		if err := s.adds.addSums(ctx, tx, survey, sumChanges{r.Group(): -1}); err != nil {
			return err
		}
		if err := s.removeAnswers(ctx, tx, &r); err != nil {
			return err
		}
		return s.logChange(ctx, tx, &r, logRemoved)
	})
	return s.Failure("remove a respondent", err)
}
