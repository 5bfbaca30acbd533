package surveys

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"weir"
	"weir/internal/phonenumber"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/database"
	"weir/surveys"
)

// Reader reads respondents, their sums and the log of a survey.
type Reader struct{ *commit.DB }

// The statements that read respondents. Each reads one range of one index.
const (
	someSQL    = "SELECT " + respondentColumns + " FROM respondents WHERE status > 0 AND id IN "
	listSQL    = "SELECT " + respondentColumns + " FROM respondents WHERE survey_id = ? AND id > ? ORDER BY id LIMIT ?"
	dueSQL     = "SELECT " + respondentColumns + " FROM respondents WHERE survey_id = ? AND status = ? AND lane = 0 AND next_at > 0 ORDER BY next_at, id LIMIT ?"
	latestSQL  = "SELECT " + respondentColumns + " FROM respondents WHERE survey_id = ? AND status = ? AND lane = 0 AND next_at > 0 ORDER BY next_at DESC, id DESC LIMIT ?"
	openSQL    = "SELECT " + respondentColumns + " FROM respondents WHERE survey_id = ? AND status = ? LIMIT ?"
	bucketSQL  = "SELECT " + respondentColumns + " FROM respondents WHERE survey_id = ? AND status = ? AND lane = ? ORDER BY next_at, id LIMIT ?"
	logColumns = "survey_id, id, at, respondent_id, event, mode, channel, attempt, outcome, reason, was, became"
	surveyLog  = "SELECT " + logColumns + " FROM survey_log WHERE survey_id = ? AND id > ? ORDER BY id LIMIT ?"
	recentLog  = "SELECT " + logColumns + " FROM survey_log WHERE survey_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?"
	begunSQL   = "SELECT second, n FROM survey_begun WHERE survey_id = ? AND second >= ?"
	readySQL   = "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN size <= ? THEN size ELSE 0 END), 0) AS slots FROM (SELECT size FROM contacts_queued WHERE channel_id = ?"
	readyEnd   = " LIMIT ?) AS ready"
)

func (s *Reader) selectRespondents(ctx context.Context, text string, args ...any) ([]surveys.Respondent, error) {
	var rows []respondentRow
	if err := s.Read.SelectContext(ctx, &rows, text, args...); err != nil {
		return nil, s.Failure("read respondents", err)
	}
	list := make([]surveys.Respondent, 0, len(rows))
	for i := range rows {
		r, err := rows[i].respondent()
		if err != nil {
			return nil, s.Failure("read respondents", err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Respondent implements [surveys.RespondentReader].
func (s *Reader) Respondent(ctx context.Context, survey int64, id surveys.RespondentID) (surveys.Respondent, error) {
	list, err := s.selectRespondents(ctx, someSQL+columns.Marks(1)+" AND survey_id = ?", int64(id), survey)
	if err != nil {
		return surveys.Respondent{}, err
	}
	if len(list) == 0 {
		return surveys.Respondent{}, weir.Errorf(weir.CodeNotFound, "no such respondent")
	}
	return list[0], nil
}

// RespondentsByID implements [surveys.RespondentReader].
func (s *Reader) RespondentsByID(ctx context.Context, ids []surveys.RespondentID) ([]surveys.Respondent, error) {
	var out []surveys.Respondent
	for some := range slices.Chunk(ids, columns.KeysPerList) {
		list, err := s.selectRespondents(ctx, someSQL+columns.Marks(len(some)), columns.Arguments(some)...)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// Respondents implements [surveys.RespondentReader].
func (s *Reader) Respondents(ctx context.Context, f surveys.Filter) ([]surveys.Respondent, surveys.RespondentID, error) {
	f.Limit = min(cmp.Or(max(f.Limit, 0), columns.DefaultPage), columns.MaxPage)
	if f.Phone != "" {
		numbers := notations(f.Phone)
		list, err := s.selectRespondents(ctx, phoneSQL(len(numbers)), append(numbers, f.Survey)...)
		return slices.DeleteFunc(list, func(r surveys.Respondent) bool { return r.ID <= f.After || !f.Matches(&r) }), 0, err
	}
	var found []surveys.Respondent
	for budget := columns.MaxExamined; budget > 0; {
		// One more than is missing shows whether there is a next page.
		n := min(budget, f.Limit-len(found)+1)
		if f.Sparse() {
			n = min(budget, columns.MaxPage)
		}
		var rows []respondentRow
		if err := s.Read.SelectContext(ctx, &rows, listSQL, f.Survey, int64(f.After), n); err != nil {
			return nil, 0, s.Failure("list respondents", err)
		}
		budget -= max(len(rows), columns.SeekCost)
		for i := range rows {
			if len(found) == f.Limit {
				return found, f.After, nil
			}
			f.After = surveys.RespondentID(rows[i].ID)
			r, err := rows[i].respondent()
			if err != nil {
				return nil, 0, s.Failure("list respondents", err)
			}
			if r.Status != "" && f.Matches(&r) {
				found = append(found, r)
			}
		}
		if len(rows) < n {
			return found, 0, nil
		}
	}
	return found, f.After, nil
}

// ByPhones implements [surveys.RespondentReader].
func (s *Reader) ByPhones(ctx context.Context, phones []string, limit int) (map[string][]surveys.Respondent, error) {
	found := make(map[string][]surveys.Respondent, len(phones))
	for some := range slices.Chunk(phones, columns.KeysPerList/2) { // few numbers have more than one notation
		var numbers []any
		for _, phone := range some {
			numbers = append(numbers, notations(phone)...)
		}
		list, err := s.selectRespondents(ctx, severalSQL(len(numbers)), append(numbers, limit*len(some))...)
		if err != nil {
			return nil, err
		}
		if len(list) == limit*len(some) { // some may have more than the limit, in place of others
			for _, phone := range some {
				if found[phone], err = s.ByPhone(ctx, phone, limit); err != nil {
					return nil, err
				}
			}
			continue
		}
		slices.SortFunc(list, func(a, b surveys.Respondent) int { return cmp.Compare(b.ID, a.ID) })
		byIdentity := make(map[string][]surveys.Respondent, len(some))
		for _, r := range list {
			is := phonenumber.Identity(r.Phone)
			byIdentity[is] = append(byIdentity[is], r)
		}
		for _, phone := range some {
			of := byIdentity[phonenumber.Identity(phone)]
			found[phone] = of[:min(len(of), limit)]
		}
	}
	return found, nil
}

// ByPhone implements [surveys.RespondentReader].
func (s *Reader) ByPhone(ctx context.Context, phone string, limit int) ([]surveys.Respondent, error) {
	numbers := notations(phone)
	return s.selectRespondents(ctx, everySQL(len(numbers)), append(numbers, limit)...)
}

// notations returns the notations of a number, for a statement.
func notations(phone string) []any {
	all := phonenumber.Notations(phonenumber.Identity(phone))
	args := make([]any, len(all), len(all)+1)
	for i := range all {
		args[i] = all[i]
	}
	return args
}

// phoneSQL finds the respondents of a survey by n notations of a number.
func phoneSQL(n int) string {
	return "SELECT " + respondentColumns + " FROM respondents WHERE phone IN " + columns.Marks(n) + " AND survey_id = ? AND status > 0"
}

// everySQL finds the respondents of all surveys by n notations of a number.
func everySQL(n int) string {
	return "SELECT " + respondentColumns + " FROM respondents WHERE phone IN " + columns.Marks(n) + " AND status > 0 ORDER BY id DESC LIMIT ?"
}

// severalSQL finds the respondents of all surveys by n notations of several numbers.
func severalSQL(n int) string {
	return "SELECT " + respondentColumns + " FROM respondents WHERE phone IN " + columns.Marks(n) + " AND status > 0 LIMIT ?"
}

// DueRespondents implements [surveys.RespondentReader].
func (s *Reader) DueRespondents(ctx context.Context, survey int64, now time.Time, limit int) ([]surveys.Respondent, time.Time, error) {
	list, err := s.selectRespondents(ctx, dueSQL, survey, statusNumber(surveys.Active), limit+1)
	if err != nil {
		return nil, time.Time{}, err
	}
	for i := range list {
		if i == limit || list[i].DueAt.After(now) {
			return list[:i], list[i].DueAt, nil
		}
	}
	return list, time.Time{}, nil
}

// LatestDue implements [surveys.RespondentReader].
func (s *Reader) LatestDue(ctx context.Context, survey int64, limit int) ([]surveys.Respondent, error) {
	return s.selectRespondents(ctx, latestSQL, survey, statusNumber(surveys.Active), limit)
}

// Open implements [surveys.RespondentReader].
func (s *Reader) Open(ctx context.Context, survey int64, limit int) ([]surveys.Respondent, error) {
	var out []surveys.Respondent
	for _, status := range []surveys.Status{surveys.Active, surveys.Pending} {
		list, err := s.selectRespondents(ctx, openSQL, survey, statusNumber(status), limit-len(out))
		if err != nil {
			return nil, err
		}
		if out = append(out, list...); len(out) == limit {
			break
		}
	}
	return out, nil
}

// Log implements [surveys.LogReader].
func (s *Reader) Log(ctx context.Context, survey, after int64, limit int) ([]surveys.LogEntry, error) {
	return s.logged(ctx, surveyLog, survey, after, limit)
}

func (s *Reader) logged(ctx context.Context, query string, args ...any) ([]surveys.LogEntry, error) {
	var rows []struct {
		Survey     int64  `db:"survey_id"`
		ID         int64  `db:"id"`
		At         int64  `db:"at"`
		Respondent int64  `db:"respondent_id"`
		Event      string `db:"event"`
		Mode       string `db:"mode"`
		Channel    string `db:"channel"`
		Attempt    int    `db:"attempt"`
		Outcome    string `db:"outcome"`
		Reason     string `db:"reason"`
		Was        string `db:"was"`
		Became     string `db:"became"`
	}
	if err := s.Read.SelectContext(ctx, &rows, query, args...); err != nil {
		return nil, s.Failure("read the log of a survey", err)
	}
	list := make([]surveys.LogEntry, 0, len(rows))
	for _, r := range rows {
		list = append(list, surveys.LogEntry{
			ID: r.ID, At: columns.Instant(r.At), Respondent: surveys.RespondentID(r.Respondent), Event: r.Event, Mode: surveys.Mode(r.Mode),
			Channel: r.Channel, Attempt: r.Attempt, Outcome: weir.Outcome(r.Outcome), Reason: r.Reason,
			From: surveys.Disposition(r.Was), To: surveys.Disposition(r.Became),
		})
	}
	return list, nil
}

// EnqueuedSince implements [surveys.PacingReader].
func (s *Reader) EnqueuedSince(ctx context.Context, survey int64, since time.Time) (map[time.Time]int, error) {
	var rows []struct {
		Second int64 `db:"second"`
		N      int   `db:"n"`
	}
	if err := s.Read.SelectContext(ctx, &rows, begunSQL, survey, since.Unix()); err != nil {
		return nil, s.Failure("read what a survey began", err)
	}
	out := map[time.Time]int{}
	for _, r := range rows {
		out[time.Unix(r.Second, 0).UTC()] = r.N
	}
	return out, nil
}

// ReadySlots implements [surveys.PacingReader].
func (s *Reader) ReadySlots(ctx context.Context, channel weir.ChannelID, lanes []weir.Lane, largest, limit int) (surveys.Ready, error) {
	type sum struct {
		N     int `db:"n"`
		Slots int `db:"slots"`
	}
	var ours, all sum
	var err error
	if len(lanes) > 0 {
		args := append([]any{largest, int64(channel)}, columns.Arguments(lanes)...)
		err = s.Read.GetContext(ctx, &ours, readyOfLanes(len(lanes)), append(args, largest, limit)...)
	}
	if err == nil {
		err = s.Read.GetContext(ctx, &all, readySQL+readyEnd, largest, int64(channel), ours.N+limit)
	}
	return surveys.Ready{Ours: ours.Slots, Others: max(0, all.Slots-ours.Slots)}, s.Failure("read what is ready", err)
}

// readyOfLanes is the statement that adds up the slots of so many lanes. Blocked
// contacts do not use up its limit: what waits behind them has to be seen, or a survey
// would enqueue without end.
func readyOfLanes(n int) string {
	return readySQL + " AND lane IN " + columns.Marks(n) + " AND size <= ?" + readyEnd
}

const (
	// logRangeSQL finds how far back a number of entries reach.
	logRangeSQL = "SELECT COUNT(*) AS n, COALESCE(MIN(id), 0) AS least_id FROM (" +
		"SELECT id FROM survey_log WHERE survey_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?) AS part"
	respondentLog = "SELECT " + logColumns + " FROM survey_log WHERE survey_id = ? AND id < ? AND id >= ? AND respondent_id = ? ORDER BY id DESC LIMIT ?"
)

// Recent implements [surveys.LogReader]. Ids are in the order of time and contain it. No
// index has the respondents, because each new entry would write one more page: a
// bounded range of the log is examined instead.
func (s *Reader) Recent(ctx context.Context, f surveys.LogFilter) (list []surveys.LogEntry, next int64, err error) {
	low, high := database.Bounds(f.Since, f.Until)
	high = min(high, cmp.Or(f.Before, math.MaxInt64))
	if f.Respondent == 0 {
		list, err = s.logged(ctx, recentLog, f.Survey, high, low, f.Limit+1)
	} else {
		var part struct {
			N     int   `db:"n"`
			Least int64 `db:"least_id"`
		}
		if err := s.Read.GetContext(ctx, &part, logRangeSQL, f.Survey, high, low, columns.MaxSearched); err != nil {
			return nil, 0, s.Failure("read the log of a survey", err)
		}
		if part.N == columns.MaxSearched {
			low, next = part.Least, part.Least
		}
		list, err = s.logged(ctx, respondentLog, f.Survey, high, low, int64(f.Respondent), f.Limit+1)
	}
	if len(list) > f.Limit {
		list = list[:f.Limit]
		next = list[f.Limit-1].ID
	}
	return list, next, err
}
