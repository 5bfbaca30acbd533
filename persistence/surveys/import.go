package surveys

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/internal/phonenumber"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/multirow"
	"weir/surveys"
)

// Bounds of what is added at once, and of a number.
const (
	maxAdded = 1000
	maxPhone = 64
)

// Importer adds respondents, and corrects and removes them.
type Importer struct {
	*commit.DB
	adds    *additions
	sweeper *Sweeper // shows what a committed import has added
}

// addition is a pending write of respondents.
type addition struct {
	s           *Importer
	survey, imp int64
	list        []surveys.Respondent
	added       []surveys.Added
}

// Add implements [surveys.Importer]. Buckets follow from the attributes and the
// survey's quotas as they are when the respondents are stored.
func (s *Importer) Add(ctx context.Context, survey, imp int64, list []surveys.Respondent) ([]surveys.Added, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) > maxAdded {
		return nil, weir.Errorf(weir.CodeInvalid, "at most %d respondents at once", maxAdded)
	}
	bytes := 0
	for i := range list {
		if n := len(list[i].Phone); n == 0 || n > maxPhone {
			return nil, &weir.Error{Code: weir.CodeInvalid, Message: "respondents cannot be stored", Fields: []weir.FieldError{{
				Pointer: fmt.Sprintf("/respondents/%d/phone", i), Code: "length", Detail: "must have 1 to 64 bytes",
			}}}
		}
		bytes += 300
		for k, v := range list[i].Attributes {
			bytes += len(k) + len(v) + 8
		}
	}
	w := &addition{s: s, survey: survey, imp: imp, list: slices.Clone(list)}
	err := s.Await(ctx, &commit.Request{Work: w, Rows: len(list), Bytes: bytes})
	if err != nil {
		return nil, err
	}
	return w.added, nil
}

// Write implements [commit.Work].
func (w *addition) Write(t *commit.Tx, r *commit.Request) error {
	w.added = make([]surveys.Added, len(w.list))
	quotas, err := holdSurvey(t.Ctx, t, w.s.Dialect.ForShare, w.survey)
	if err == nil && w.imp != 0 {
		err = w.touch(t)
	}
	if err != nil && weir.CodeOf(err) != weir.CodeInternal {
		r.Refuse(err)
		return nil // that the survey or the import takes none is the answer, not a fault
	}
	if err != nil {
		return err
	}
	t.GiveIDs(r, len(w.list))
	return w.insert(t, r, quotas)
}

// holdSurvey makes sure that a survey takes respondents, and returns its quotas. Both
// stay as they are until the end of the transaction.
func holdSurvey(ctx context.Context, tx dialect.Reader, forShare string, survey int64) (surveys.Quotas, error) {
	var row struct {
		Quotas   string        `db:"quotas"`
		State    surveys.State `db:"state"`
		Deleting bool          `db:"deleting"`
	}
	err := tx.GetContext(ctx, &row, "SELECT quotas, state, deleting FROM surveys WHERE id = ?"+forShare, survey)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && row.Deleting:
		return nil, noSurvey()
	case err != nil:
		return nil, err
	case row.State == surveys.Stopping || row.State == surveys.Done:
		return nil, weir.Errorf(weir.CodeConflict, "the survey is %s and takes no respondents", row.State)
	}
	var quotas surveys.Quotas
	err = json.Unmarshal([]byte(row.Quotas), &quotas)
	return quotas, err
}

// touch makes sure that the import is open, and notes that it is alive.
func (w *addition) touch(t *commit.Tx) error {
	state, err := w.s.holdImport(t.Ctx, t, w.survey, w.imp)
	if err != nil {
		return err
	}
	if state != importOpen {
		return weir.Errorf(weir.CodeConflict, "the import is over")
	}
	_, err = t.Exec("UPDATE imports SET touched_at = ? WHERE id = ?", columns.Micros(t.Now), w.imp)
	return err
}

// holdImport returns the state of an import, which stays so until the end of the
// transaction.
func (s *Importer) holdImport(ctx context.Context, tx dialect.Reader, survey, imp int64) (state string, _ error) {
	err := tx.GetContext(ctx, &state, "SELECT state FROM imports WHERE id = ? AND survey_id = ?"+s.Dialect.ForUpdate, imp, survey)
	if errors.Is(err, sql.ErrNoRows) {
		return "", weir.Errorf(weir.CodeNotFound, "no such import")
	}
	return state, err
}

// adoptNotations writes each number as the survey has it already, or as the first of the batch
// has it: a number that can be written in several ways is one person, and the key of the table
// knows one of them. All respondents are written by one goroutine, so that what is read here
// stays so until the insertion.
func (w *addition) adoptNotations(t *commit.Tx) error {
	adopted := map[string]string{} // by identity
	var asked []any
	for i := range w.list {
		identity := phonenumber.Identity(w.list[i].Phone)
		all := notations(identity)
		if _, known := adopted[identity]; known || len(all) == 1 {
			continue
		}
		adopted[identity] = w.list[i].Phone
		asked = append(asked, all...)
	}
	for some := range slices.Chunk(asked, columns.KeysPerList) {
		var phones []string
		err := t.SelectContext(t.Ctx, &phones, "SELECT phone FROM respondents WHERE survey_id = ? AND phone IN "+columns.Marks(len(some)), append([]any{w.survey}, some...)...)
		if err != nil {
			return err
		}
		for _, phone := range phones {
			adopted[phonenumber.Identity(phone)] = phone
		}
	}
	for i := range w.list {
		if as, ok := adopted[phonenumber.Identity(w.list[i].Phone)]; ok {
			w.list[i].Phone = as
		}
	}
	return nil
}

func (w *addition) insert(t *commit.Tx, r *commit.Request, quotas surveys.Quotas) error {
	if err := w.adoptNotations(t); err != nil {
		return err
	}
	var args []any
	full := make([]surveys.Respondent, len(w.list))
	for i := range w.list {
		full[i] = w.list[i]
		full[i].Survey, full[i].Bucket = w.survey, quotas.Of(full[i].Attributes)
		full[i].Progress, full[i].Added = surveys.NewProgress(), cmp.Or(full[i].Added, r.At)
		w.added[i].ID = surveys.RespondentID(r.IDs[i])
		args = append(args, newRespondent(r.IDs[i], w.imp, &full[i])...)
	}
	n, err := multirow.InsertCounted(t, "INSERT INTO respondents ("+respondentInsert+") VALUES ", w.s.Dialect.KeepRespondent, args, len(full))
	if err != nil {
		return err
	}
	if n != int64(len(full)) {
		if err := w.findDuplicates(t, n); err != nil {
			return err
		}
	}
	if w.imp != 0 {
		return nil
	}
	changes := sumChanges{}
	for i := range full {
		if !w.added[i].Duplicate {
			changes[full[i].Group()]++
		}
	}
	return w.s.adds.addSumsIn(t, w.survey, changes)
}

// findDuplicates looks up who has the numbers.
func (w *addition) findDuplicates(t *commit.Tx, inserted int64) error {
	type holder struct {
		id     int64
		unsure bool
	}
	holders := map[string]holder{}
	for some := range slices.Chunk(w.list, columns.KeysPerList) {
		args := []any{w.survey}
		for i := range some {
			args = append(args, some[i].Phone)
		}
		var rows []struct {
			ID     int64  `db:"id"`
			Phone  string `db:"phone"`
			Status int64  `db:"status"`
			Import int64  `db:"next_at"` // of one who is hidden
		}
		err := t.SelectContext(t.Ctx, &rows, "SELECT id, phone, status, next_at FROM respondents WHERE survey_id = ? AND phone IN "+columns.Marks(len(some)), args...)
		if err != nil {
			return err
		}
		for _, row := range rows {
			holders[row.Phone] = holder{row.ID, row.Status == hidden && row.Import != w.imp}
		}
	}
	fresh := int64(0)
	for i := range w.list {
		h, ok := holders[w.list[i].Phone]
		if w.added[i].ID == surveys.RespondentID(h.id) {
			fresh++
			continue
		}
		// A respondent that is not found was removed since the insertion met its number.
		w.added[i] = surveys.Added{ID: surveys.RespondentID(h.id), Duplicate: true, Unsure: h.unsure || !ok}
	}
	if fresh != inserted {
		return fmt.Errorf("%d respondents went in, %d were found", inserted, fresh)
	}
	return nil
}

// BeginImport implements [surveys.Importer].
func (s *Importer) BeginImport(ctx context.Context, survey int64) (int64, error) {
	id := s.NextID(time.Now())
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := holdSurvey(ctx, tx, s.Dialect.ForShare, survey); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO imports (id, survey_id, state, touched_at) VALUES "+columns.Marks(4),
			id, survey, importOpen, columns.Micros(time.Now()))
		return err
	})
	return id, s.Failure("begin an import", err)
}

// CommitImport implements [surveys.Importer]. From the first step on it is
// certain that the import will be visible; what a crash interrupts, Sweep ends.
func (s *Importer) CommitImport(ctx context.Context, survey, imp int64) error {
	return s.endImport(ctx, survey, imp, importCommitting, importCommitted)
}

// AbortImport implements [surveys.Importer].
func (s *Importer) AbortImport(ctx context.Context, survey, imp int64) error {
	return s.endImport(ctx, survey, imp, importAborting, importAborted)
}

func (s *Importer) endImport(ctx context.Context, survey, imp int64, ending, ended string) error {
	over, err := s.decideImport(ctx, survey, imp, ending, ended)
	for err == nil && !over {
		var n int
		n, err = s.sweeper.stepImport(ctx, imp, sweepChunk)
		over = n < sweepChunk
	}
	return s.Failure("end an import", err)
}

// decideImport says what an import comes to. over says that it has come to it. A
// survey that ends lets none become visible any more; see surveyChange.
func (s *Importer) decideImport(ctx context.Context, survey, imp int64, ending, ended string) (over bool, err error) {
	err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var no error // before the import, in the order of Add, so that the two do not wait for each other
		if ending == importCommitting {
			if _, no = holdSurvey(ctx, tx, s.Dialect.ForShare, survey); weir.CodeOf(no) == weir.CodeInternal {
				return no
			}
		}
		state, err := s.holdImport(ctx, tx, survey, imp)
		switch over = state == ended; {
		case err != nil || over || state == ending:
			return err
		case state != importOpen:
			return weir.Errorf(weir.CodeConflict, "the import was ended in another way")
		case no != nil:
			return no
		}
		_, err = tx.ExecContext(ctx, "UPDATE imports SET state = ?, touched_at = ? WHERE id = ?", ending, columns.Micros(time.Now()), imp)
		return err
	})
	return over, err
}
