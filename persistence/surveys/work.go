package surveys

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
	"weir/persistence/multirow"
	"weir/surveys"
)

// begunKept is how long it is known how many contacts were enqueued in a second.
const begunKept = time.Hour

// Rounds writes what a round of the survey broker has decided.
type Rounds struct {
	*commit.DB
	adds  *additions
	queue *contacts.Queue
}

// surveyWork is one pending write of the survey broker.
type surveyWork struct {
	s       *Rounds
	work    surveys.Work
	call    *commit.Call
	claims  weir.Claims
	written surveys.Written // of the latest try
	replies []*move         // whose replies the latest try makes
}

// Work implements [surveys.Worker].
func (s *Rounds) Work(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	if len(w.Moves) == 0 && len(w.Taken) == 0 {
		return surveys.Written{}, nil
	}
	job, err := s.newWork(ctx, w)
	if err != nil {
		return surveys.Written{}, err
	}
	job.Submit(weir.Claims{})
	replies, err := job.Wait()
	if err != nil && weir.CodeOf(err) != weir.CodeConflict {
		return surveys.Written{}, err
	}
	for i := range replies {
		if !replies[i].Duplicate {
			job.written.Contacts = append(job.written.Contacts, replies[i].Contact)
		}
	}
	return job.written, err
}

// NewWork implements [surveys.Worker].
func (s *Rounds) NewWork(ctx context.Context, w surveys.Work) (surveys.PendingWork, error) {
	job, err := s.newWork(ctx, w)
	if err != nil {
		return nil, err
	}
	return job, nil
}

// Submit implements [weir.Acceptance].
func (w *surveyWork) Submit(c weir.Claims) bool {
	return w.call.Submit(func() { w.claims = c })
}

// Wait implements [weir.Acceptance].
func (w *surveyWork) Wait() ([]weir.Accepted, error) {
	if err := w.call.Wait(); err != nil {
		return nil, err
	}
	return w.replied(), nil
}

// Written implements [surveys.PendingWork].
func (w *surveyWork) Written() surveys.Written { return w.written }

// done passes the result on to who has claimed the replies.
func (w *surveyWork) done(err error) {
	switch {
	case w.claims.Done == nil:
	case err != nil:
		w.claims.Done(nil, err)
	default:
		w.claims.Done(w.replied(), nil)
	}
}

// replied returns the replies that were made.
func (w *surveyWork) replied() []weir.Accepted {
	list := make([]weir.Accepted, len(w.replies))
	for i, m := range w.replies {
		list[i] = m.accepted
	}
	return list
}

// newWork checks work.
func (s *Rounds) newWork(ctx context.Context, w surveys.Work) (*surveyWork, error) {
	rows, bytes := len(w.Taken)/10, 0
	var mistakes []weir.FieldError
	var channels []weir.ChannelID // that get contacts
	for i := range w.Moves {
		m := &w.Moves[i]
		rows += 1 + len(m.Log)
		bytes += 400 + 200*len(m.Log)
		for k, v := range m.Is.Attributes {
			bytes += len(k) + len(v) + 8
		}
		rows += 3 * len(m.Answers)
		if w.Definition != nil {
			rows += 2 * len(w.Definition.Breakdowns) * len(m.Answers)
		}
		for _, a := range m.Answers {
			bytes += 300 + len(a.Value) + len(a.Raw)
		}
		for _, spec := range []*weir.Spec{m.Enqueue, m.Reply} {
			if spec == nil {
				continue
			}
			mistakes = append(mistakes, contacts.CheckSpec(i, spec)...)
			bytes += contacts.SpecBytes(spec)
			if !slices.Contains(channels, m.Channel) {
				channels = append(channels, m.Channel)
			}
		}
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	job := &surveyWork{s: s, work: w}
	var err error
	job.call, err = s.NewCall(ctx, &commit.Request{Channels: channels, Work: job, Rows: rows, Bytes: bytes, Answer: job.done})
	return job, err
}

// Write implements [commit.Work].
func (w *surveyWork) Write(t *commit.Tx, r *commit.Request) error {
	w.written, w.replies = surveys.Written{}, nil
	if w.refuse(t, r) {
		return nil
	}
	moves := w.moves(t, r)
	if !t.Optimistic {
		var err error
		if moves, err = w.withoutStale(t, moves); err != nil {
			return err
		}
	}
	moves, err := w.enqueue(t, r, moves)
	if err != nil {
		return err
	}
	if err := w.updateRespondents(t, moves); err != nil {
		return err
	}
	for _, step := range []func(*commit.Tx, *commit.Request, []*move) error{w.sum, w.breakdowns, w.answers, w.attempts, w.quarters, w.begun, w.log, w.take} {
		if err := step(t, r, moves); err != nil {
			return err
		}
	}
	for _, m := range moves {
		t.Emit(m.Events...)
	}
	return nil
}

// refuse finds moves whose channel takes nothing. Nothing is written then.
func (w *surveyWork) refuse(t *commit.Tx, r *commit.Request) bool {
	for i := range w.work.Moves {
		if m := &w.work.Moves[i]; m.Enqueue != nil && t.Admits(m.Channel) != nil {
			w.written.Refused = append(w.written.Refused, m.Is.ID)
		}
	}
	if len(w.written.Refused) == 0 {
		return false
	}
	r.Refuse(weir.Errorf(weir.CodeConflict, "a channel is gone or is being deleted"))
	return true
}

// moves gives ids to what is new, and sorts the moves, so that two writers do
// not wait for each other. A second move of one respondent is stale.
func (w *surveyWork) moves(t *commit.Tx, r *commit.Request) []*move {
	n := 0
	for i := range w.work.Moves {
		n += 1 + len(w.work.Moves[i].Log)
	}
	t.GiveIDs(r, n)
	ids := r.IDs
	list := make([]*move, 0, len(w.work.Moves))
	seen := map[surveys.RespondentID]bool{}
	for i := range w.work.Moves {
		m := &move{Move: &w.work.Moves[i], is: w.work.Moves[i].Is, contact: ids[0], log: ids[1 : 1+len(w.work.Moves[i].Log)]}
		ids = ids[1+len(m.log):]
		m.is.Survey = w.work.Survey
		if seen[m.is.ID] || m.is.Rev != m.Was.Rev+1 || m.is.ID != m.Was.ID {
			w.written.Stale = append(w.written.Stale, m.is.ID)
			continue
		}
		seen[m.is.ID] = true
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *move) int { return cmp.Compare(a.is.ID, b.is.ID) })
	return list
}

// withoutStale reads the revisions under lock and leaves out the moves that
// would replace another one.
func (w *surveyWork) withoutStale(t *commit.Tx, moves []*move) ([]*move, error) {
	revisions := map[int64]int64{}
	for some := range slices.Chunk(moves, columns.KeysPerList) {
		args := []any{w.work.Survey, int64(hidden)}
		for _, m := range some {
			args = append(args, int64(m.is.ID))
		}
		var rows []struct {
			ID  int64 `db:"id"`
			Rev int64 `db:"rev"`
		}
		err := t.SelectContext(t.Ctx, &rows, "SELECT id, rev FROM respondents WHERE survey_id = ? AND status <> ? AND id IN "+
			columns.Marks(len(some))+w.s.Dialect.ForUpdate, args...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			revisions[row.ID] = row.Rev
		}
	}
	return slices.DeleteFunc(moves, func(m *move) bool {
		if rev, ok := revisions[int64(m.is.ID)]; ok && rev == m.Was.Rev {
			return false
		}
		w.written.Stale = append(w.written.Stale, m.is.ID)
		w.s.CountError("stale")
		return true
	}), nil
}

// enqueue inserts the contacts and leaves out the moves whose key is another
// else's. A reply is left out alone.
func (w *surveyWork) enqueue(t *commit.Tx, r *commit.Request, moves []*move) ([]*move, error) {
	var list, claimed []contacts.Insertion
	claims := w.claimable(t)
	for _, m := range moves {
		spec := m.Enqueue
		if spec == nil && m.Reply != nil && t.Admits(m.Channel) == nil {
			spec = m.Reply
		}
		if m.accepted = (weir.Accepted{}); spec == nil {
			continue
		}
		in := contacts.Insertion{Contact: contacts.NewContact(weir.Ref{Channel: m.Channel, ID: weir.ContactID(m.contact)}, *spec, r.At), Into: &m.accepted}
		if claims[m.is.ID] && in.Claim() {
			m.accepted.Contact = in.Contact // until it is judged
			claimed = append(claimed, in)
			continue
		}
		list = append(list, in)
	}
	if err := w.s.queue.InsertContacts(t, list); err != nil {
		return nil, err
	}
	w.s.queue.InsertClaimed(claimed)
	return slices.DeleteFunc(moves, func(m *move) bool {
		c := &m.accepted.Contact
		if c.Ref == (weir.Ref{}) {
			return false
		}
		spec := cmp.Or(m.Enqueue, m.Reply)
		if others := m.accepted.Duplicate && c.Owner != spec.Owner; others && m.Enqueue != nil {
			w.written.Refused, w.written.Stale = append(w.written.Refused, m.is.ID), append(w.written.Stale, m.is.ID)
			return true
		} else if others {
			return false
		}
		if m.Enqueue != nil {
			m.is.Contact = c.Ref
		}
		if surveys.TurnOf(c) != 0 && m.is.Said == (weir.Ref{}) {
			m.is.Said = c.Ref
		}
		switch {
		case m.Enqueue == nil:
			w.replies = append(w.replies, m)
		case !m.accepted.Duplicate:
			w.written.Contacts = append(w.written.Contacts, *c)
		}
		return false
	}), nil
}

// claimable returns the respondents whose replies are claimed: the first ones, for which their broker has slots. Only a
// try that assumes that no key is taken can claim, because it knows which contacts there will be before it inserts them.
func (w *surveyWork) claimable(t *commit.Tx) map[surveys.RespondentID]bool {
	if w.claims.First == 0 || !t.Optimistic || !t.IsCurrent(w.claims.By) {
		return nil
	}
	_, list := w.work.Replies()
	claims := make(map[surveys.RespondentID]bool, w.claims.First)
	for _, m := range list[:min(w.claims.First, len(list))] {
		claims[m.Was.ID] = true
	}
	return claims
}

func (w *surveyWork) updateRespondents(t *commit.Tx, moves []*move) error {
	if len(moves) == 0 {
		return nil
	}
	n, err := t.Exec(w.s.Dialect.UpdateRespondents, encodeMoves(moves))
	if err != nil || n == int64(len(moves)) {
		return err
	}
	if !t.Optimistic {
		return fmt.Errorf("%d respondents were changed, want %d", n, len(moves))
	}
	return commit.ErrOutdated
}

func (w *surveyWork) sum(t *commit.Tx, _ *commit.Request, moves []*move) error {
	changes := sumChanges{}
	for _, m := range moves {
		changes[m.Was.Group()]--
		changes[m.is.Group()]++
	}
	return w.s.adds.addSumsIn(t, w.work.Survey, changes)
}

func (w *surveyWork) attempts(t *commit.Tx, _ *commit.Request, moves []*move) error {
	ended := map[surveys.Made]int64{}
	for _, m := range moves {
		if m.Attempt != nil {
			ended[*m.Attempt]++
		}
	}
	var args []any
	for made, n := range ended {
		args = append(args, w.work.Survey, string(made.Mode), string(made.Outcome), n)
	}
	_, err := multirow.InsertCounted(t, insertAttempts, w.s.adds.attempts, args, len(ended))
	return err
}

// quarters counts what respondents came to in this quarter of an hour.
func (w *surveyWork) quarters(t *commit.Tx, r *commit.Request, moves []*move) error {
	changes := quarterChanges{}
	for _, m := range moves {
		if p := surveys.PassedBy(&m.Was, &m.is); p != (surveys.Passed{}) {
			k := quarterKey{m.Mode, m.is.Arm}
			changes[k] = changes[k].Add(p)
		}
	}
	args := changes.rows(w.work.Survey, r.At)
	_, err := multirow.InsertCounted(t, insertQuarters, w.s.adds.quarters, args, len(changes))
	return err
}

// begun counts what was enqueued now, and forgets what was long ago.
func (w *surveyWork) begun(t *commit.Tx, r *commit.Request, _ []*move) error {
	n := 0
	for i := range w.written.Contacts {
		if w.written.Contacts[i].Priority != weir.Reply {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	if _, err := multirow.InsertCounted(t, insertBegun, w.s.adds.begun, []any{w.work.Survey, r.At.Unix(), int64(n)}, 1); err != nil {
		return err
	}
	_, err := t.Exec("DELETE FROM survey_begun WHERE survey_id = ? AND second < ?", w.work.Survey, r.At.Add(-begunKept).Unix())
	return err
}

func (w *surveyWork) log(t *commit.Tx, _ *commit.Request, moves []*move) error {
	var args []any
	rows := 0
	for _, m := range moves {
		for i := range m.Log {
			e := &m.Log[i]
			args = append(args, w.work.Survey, m.log[i], columns.Micros(e.At), int64(m.is.ID), e.Event, string(e.Mode), e.Channel,
				int64(e.Attempt), string(e.Outcome), columns.Clip(e.Reason), string(e.From), string(e.To))
			rows++
		}
	}
	_, err := multirow.InsertCounted(t, "INSERT INTO survey_log ("+logColumns+") VALUES ", "", args, rows)
	return err
}

// take deletes the outbox entries that were handled.
func (w *surveyWork) take(t *commit.Tx, _ *commit.Request, moves []*move) error {
	taken := slices.Clone(w.work.Taken)
	for _, m := range moves {
		taken = append(taken, m.Taken...)
	}
	for some := range slices.Chunk(taken, columns.KeysPerList) {
		t.AddOnce("DELETE FROM outbox WHERE id IN "+columns.Marks(len(some)), columns.Arguments(some)...)
	}
	return nil
}
