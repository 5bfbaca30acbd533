package surveys

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/events"
	"weir/internal/document"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
	"weir/surveys"
)

var (
	_ surveys.Worker            = (*Store)(nil)
	_ surveys.Store             = (*Store)(nil)
	_ surveys.Importer          = (*Store)(nil)
	_ surveys.RespondentReader  = (*Store)(nil)
	_ surveys.PacingReader      = (*Store)(nil)
	_ surveys.LogReader         = (*Store)(nil)
	_ surveys.ChannelStateStore = (*Store)(nil)
)

const surveyColumns = "id, name, former_name, title, state, cause, definition, quotas, application, locked, version, deleting, bucketed_to, " +
	"created_at, updated_at, launched_at, ended_at"

// byIDSQL reads a survey, without its definition if that is of a known version.
const byIDSQL = "SELECT id, name, former_name, title, state, cause, CASE WHEN version = ? AND state <> ? THEN '' ELSE definition END AS definition, " +
	"quotas, application, locked, version, deleting, bucketed_to, created_at, updated_at, launched_at, ended_at FROM surveys WHERE id = ?"

// surveyRow is a row of surveys. One that is being deleted has its name in
// FormerName, so that the name is free.
type surveyRow struct {
	ID          int64   `db:"id"`
	Name        *string `db:"name"`
	FormerName  string  `db:"former_name"`
	Title       string  `db:"title"`
	State       string  `db:"state"`
	Cause       string  `db:"cause"`
	Definition  string  `db:"definition"`
	Quotas      string  `db:"quotas"`
	Application string  `db:"application"`
	Locked      bool    `db:"locked"`
	Version     int64   `db:"version"`
	Deleting    bool    `db:"deleting"`
	BucketedTo  *int64  `db:"bucketed_to"`
	CreatedAt   int64   `db:"created_at"`
	UpdatedAt   int64   `db:"updated_at"`
	LaunchedAt  int64   `db:"launched_at"`
	EndedAt     int64   `db:"ended_at"`
}

func (r *surveyRow) survey() (surveys.Survey, error) {
	out := surveys.Survey{
		ID: r.ID, Name: r.FormerName, Title: r.Title, State: surveys.State(r.State), Cause: surveys.Cause(r.Cause),
		Locked: r.Locked, Version: r.Version, Deleting: r.Deleting, Created: columns.Instant(r.CreatedAt), Updated: columns.Instant(r.UpdatedAt),
		Launched: columns.Instant(r.LaunchedAt), Ended: columns.Instant(r.EndedAt),
	}
	if r.Name != nil {
		out.Name = *r.Name
	}
	var stored storedDefinition
	err := json.Unmarshal([]byte(r.Definition), &stored)
	out.Definition, out.Braked = stored.Definition, stored.Braked
	return out, errors.Join(err, json.Unmarshal([]byte(r.Application), &out.Application))
}

// storedDefinition is the form of the column definition: what a brake has done is beside the
// fields of the client.
type storedDefinition struct {
	surveys.Definition
	Braked *weir.Braked `json:"braked,omitempty"`
}

func noSurvey() error { return weir.Errorf(weir.CodeNotFound, "no such survey") }

// take makes the row what a client wants. Respondents of a draft whose quotas
// change have to be sorted into buckets anew, from the first.
func (r *surveyRow) take(s *surveys.Survey, now time.Time) error {
	definition, err := json.Marshal(storedDefinition{s.Definition, s.Braked})
	if err != nil {
		return err
	}
	quotas, err := json.Marshal(s.Definition.Quotas)
	if err != nil {
		return err
	}
	application, err := json.Marshal(s.Application) //nolint:gosec // the secret is the application's, kept for signing
	if err != nil {
		return err
	}
	if r.Quotas != string(quotas) && r.Version > 0 && r.State == string(surveys.Draft) {
		r.BucketedTo = new(int64)
	}
	r.Title, r.State, r.Cause = s.Title, string(s.State), string(s.Cause)
	r.Definition, r.Quotas, r.Application = string(definition), string(quotas), string(application)
	r.Locked = s.Locked
	r.LaunchedAt, r.EndedAt, r.UpdatedAt = columns.Micros(s.Launched), columns.Micros(s.Ended), columns.Micros(now)
	r.Version++
	return nil
}

const changeSurvey = "UPDATE surveys SET title = ?, state = ?, cause = ?, definition = ?, quotas = ?, application = ?, locked = ?, version = ?, " +
	"bucketed_to = ?, updated_at = ?, launched_at = ?, ended_at = ? WHERE id = ?"

func (r *surveyRow) changes() []any {
	return []any{
		r.Title, r.State, r.Cause, r.Definition, r.Quotas, r.Application, r.Locked, r.Version, r.BucketedTo, r.UpdatedAt, r.LaunchedAt, r.EndedAt, r.ID,
	}
}

// PutSurvey implements [surveys.Store].
func (s *Definitions) PutSurvey(ctx context.Context, v surveys.Survey, on document.Condition) (surveys.Survey, bool, error) {
	var row surveyRow
	var created bool
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		row = surveyRow{}
		err := tx.GetContext(ctx, &row, "SELECT "+surveyColumns+" FROM surveys WHERE name = ?"+s.Dialect.ForUpdate, v.Name)
		if created = errors.Is(err, sql.ErrNoRows); created {
			row, err = s.createSurvey(ctx, tx, v)
			return err
		}
		if err == nil {
			err = on.Check(v.Name, true)
		}
		if err != nil {
			return err
		}
		if row.State != string(surveys.Draft) {
			return weir.Errorf(weir.CodeConflict, "there is a survey of this name that is no draft")
		}
		v.State, v.Cause, v.Launched, v.Ended = surveys.Draft, "", time.Time{}, time.Time{}
		if err := row.take(&v, time.Now()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, changeSurvey, row.changes()...)
		return err
	})
	if s.Database.Duplicate(err) {
		if err := on.Check(v.Name, true); err != nil {
			return surveys.Survey{}, false, err
		}
		return surveys.Survey{}, false, weir.Errorf(weir.CodeConflict, "another request has just created the survey")
	}
	if err != nil {
		return surveys.Survey{}, false, s.Failure("store a survey", err)
	}
	s.sweeper.beginSorting(ctx, &row)
	stored, err := row.survey()
	return stored, created, s.Failure("store a survey", err)
}

func (s *Definitions) createSurvey(ctx context.Context, tx *sqlx.Tx, v surveys.Survey) (surveyRow, error) {
	now := time.Now()
	row := surveyRow{ID: s.NextID(now), Name: &v.Name, CreatedAt: columns.Micros(now)}
	if v.State == "" {
		v.State = surveys.Draft
	}
	if err := row.take(&v, now); err != nil {
		return row, err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO surveys ("+surveyColumns+") VALUES "+columns.Marks(17),
		row.ID, v.Name, "", row.Title, row.State, row.Cause, row.Definition, row.Quotas, row.Application, row.Locked, row.Version, false, nil,
		row.CreatedAt, row.UpdatedAt, row.LaunchedAt, row.EndedAt)
	return row, err
}

// UpdateSurvey implements [surveys.Store]. A survey that is a draft no more has
// its respondents in their buckets: that is seen to first.
func (s *Definitions) UpdateSurvey(ctx context.Context, v surveys.Survey, tell ...events.Event) (surveys.Survey, error) {
	for {
		if v.State != surveys.Draft {
			if err := s.sweeper.sortAll(ctx, v.ID); err != nil {
				return surveys.Survey{}, err
			}
		}
		w := &surveyChange{s: s, survey: v, tell: tell}
		err := s.Await(ctx, &commit.Request{Work: w, Rows: 1 + len(tell), Bytes: 20_000})
		if err != nil {
			return surveys.Survey{}, err
		}
		if w.unsorted { // the quotas were changed meanwhile
			continue
		}
		s.sweeper.beginSorting(ctx, &w.row)
		stored, err := w.row.survey()
		return stored, s.Failure("change a survey", err)
	}
}

// surveyChange is a pending change of a survey.
type surveyChange struct {
	s        *Definitions
	survey   surveys.Survey
	tell     []events.Event
	row      surveyRow // as it became
	unsorted bool      // its respondents have to be sorted first
}

// Write implements [commit.Work].
func (w *surveyChange) Write(t *commit.Tx, r *commit.Request) error {
	w.row, w.unsorted = surveyRow{}, false
	err := t.GetContext(t.Ctx, &w.row, "SELECT "+surveyColumns+" FROM surveys WHERE id = ?"+w.s.Dialect.ForUpdate, w.survey.ID)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && w.row.Deleting:
		r.Refuse(noSurvey())
		return nil
	case err != nil:
		return err
	case w.row.Version != w.survey.Version:
		r.Refuse(weir.Errorf(weir.CodeConflict, "the survey was changed meanwhile"))
		return nil
	}
	was := w.row
	if err := w.row.take(&w.survey, t.Now); err != nil {
		return err
	}
	if w.row.BucketedTo != nil && w.row.State != was.State {
		return w.sortFirst(t, was)
	}
	if w.survey.State == surveys.Done && was.State != w.row.State {
		// Who becomes visible now would be pending in it for ever.
		var coming int
		err := t.GetContext(t.Ctx, &coming, "SELECT COUNT(*) FROM imports WHERE survey_id = ? AND state = ?", w.row.ID, importCommitting)
		if err != nil {
			return err
		}
		if coming > 0 {
			r.Refuse(weir.Errorf(weir.CodePrecondition, "an import of the survey is becoming visible"))
			return nil
		}
	}
	if refused, err := w.s.setBudget(t, r, &was, &w.survey); err != nil || refused {
		return err
	}
	if _, err := t.Exec(changeSurvey, w.row.changes()...); err != nil {
		return err
	}
	t.Emit(w.tell...)
	return nil
}

// sortFirst leaves a draft that is launched a draft until its respondents are in
// their buckets. If the launch brings other quotas they are stored by
// themselves.
func (w *surveyChange) sortFirst(t *commit.Tx, was surveyRow) error {
	w.unsorted = true
	if was.Quotas == w.row.Quotas {
		return nil
	}
	_, err := t.Exec("UPDATE surveys SET definition = ?, quotas = ?, bucketed_to = 0 WHERE id = ?", w.row.Definition, w.row.Quotas, w.row.ID)
	return err
}

// Survey implements [surveys.Store].
func (s *Definitions) Survey(ctx context.Context, name string) (surveys.Survey, error) {
	list, err := s.surveys(ctx, "WHERE name = ?", name)
	if err != nil {
		return surveys.Survey{}, err
	}
	if len(list) == 0 {
		return surveys.Survey{}, noSurvey()
	}
	return list[0], nil
}

// SurveyByID implements [surveys.Store]. One that is being deleted is found.
func (s *Definitions) SurveyByID(ctx context.Context, id int64) (surveys.Survey, error) {
	known := s.decoded.of(id)
	var rows []surveyRow
	if err := s.Read.SelectContext(ctx, &rows, byIDSQL, known.Version, string(surveys.Draft), id); err != nil {
		return surveys.Survey{}, s.Failure("read surveys", err)
	}
	if len(rows) == 0 {
		return surveys.Survey{}, noSurvey()
	}
	unchanged := rows[0].Definition == ""
	if unchanged {
		rows[0].Definition = "{}"
	}
	v, err := rows[0].survey()
	if err != nil {
		return surveys.Survey{}, s.Failure("read surveys", err)
	}
	if unchanged {
		v.Definition, v.Braked = known.Definition, known.Braked
	} else {
		s.decoded.keep(v)
	}
	return v, nil
}

// decoded keeps the definitions of surveys as they were decoded last: they may be as large as 200 kB, and the survey is read
// whenever one of its respondents has written. That of a draft changes without its version.
type decoded struct {
	mu      sync.Mutex
	surveys map[int64]surveys.Survey
}

// maxDecoded is how many definitions are kept. Once there are more, all are forgotten.
const maxDecoded = 100

// of returns a survey as it is known; zero, the version of none: it is not.
func (d *decoded) of(id int64) surveys.Survey {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.surveys[id]
}

func (d *decoded) keep(v surveys.Survey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.surveys == nil || len(d.surveys) >= maxDecoded {
		d.surveys = map[int64]surveys.Survey{}
	}
	d.surveys[v.ID] = v
}

func (s *Definitions) surveys(ctx context.Context, rest string, args ...any) ([]surveys.Survey, error) {
	var rows []surveyRow
	if err := s.Read.SelectContext(ctx, &rows, "SELECT "+surveyColumns+" FROM surveys "+rest, args...); err != nil {
		return nil, s.Failure("read surveys", err)
	}
	list := make([]surveys.Survey, 0, len(rows))
	for i := range rows {
		v, err := rows[i].survey()
		if err != nil {
			return nil, s.Failure("read surveys", err)
		}
		list = append(list, v)
	}
	return list, nil
}

// Surveys implements [surveys.Store].
func (s *Definitions) Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error) {
	where, args := "WHERE name > ?", []any{after}
	if len(states) > 0 {
		where += " AND state IN " + columns.Marks(len(states))
		for _, state := range states {
			args = append(args, string(state))
		}
	}
	return s.surveys(ctx, where+" ORDER BY name LIMIT ?", append(args, limit)...)
}

// RemoveSurvey implements [surveys.Store].
func (s *Definitions) RemoveSurvey(ctx context.Context, id int64) error {
	var name string
	var hadBudget bool
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var row surveyRow
		err := tx.GetContext(ctx, &row, "SELECT "+surveyColumns+" FROM surveys WHERE id = ?"+s.Dialect.ForUpdate, id)
		if errors.Is(err, sql.ErrNoRows) {
			return noSurvey()
		}
		if err != nil || row.Deleting {
			return err
		}
		if old, err := row.survey(); err == nil {
			name, hadBudget = old.Name, old.Definition.Budget != nil
		}
		if row.State != string(surveys.Draft) && row.State != string(surveys.Done) {
			return weir.Errorf(weir.CodeConflict, "the survey is %s; stop it first, and remove it when it is done", row.State)
		}
		if err := (&surveys.Survey{Name: *row.Name, Locked: row.Locked}).CheckUnlocked(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE surveys SET name = NULL, former_name = ?, deleting = 1, bucketed_to = NULL, version = version + 1, updated_at = ? WHERE id = ?",
			*row.Name, columns.Micros(time.Now()), id)
		return err
	})
	if err == nil && hadBudget {
		err = s.Await(ctx, &commit.Request{Work: &budgetRemoval{s, name}, Rows: 1, Bytes: 100})
	}
	return s.Failure("remove a survey", err)
}

// Definitions keeps the surveys themselves.
type Definitions struct {
	*commit.DB
	sweeper *Sweeper // counts respondents anew when quotas change
	budgets Budgets
	decoded decoded
}

// Store is everything that keeps surveys and their respondents.
type Store struct {
	*Definitions
	*Reader
	*Importer
	*Sweeper
	*Rounds
	*Outbox
}

// New returns the store of surveys in a database; contacts go into the queue, and come back
// through the outbox that observes it.
func New(db *commit.DB, queue *contacts.Queue, outbox *Outbox, budgets Budgets) *Store {
	adds := newAdditions(db.Dialect)
	sweeper := &Sweeper{db, &adds}
	return &Store{&Definitions{DB: db, sweeper: sweeper, budgets: budgets}, &Reader{db}, &Importer{db, &adds, sweeper}, sweeper, &Rounds{db, &adds, queue}, outbox}
}
