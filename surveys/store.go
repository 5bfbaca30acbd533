package surveys

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/events"
	"weir/internal/document"
	"weir/internal/phonenumber"
	"weir/surveys/questions"
)

// Move is one step of one respondent: its new state, and the writes of the same
// transaction. It is applied only if the stored respondent still has the revision
// Is.Rev-1.
type Move struct {
	Was     Respondent // as it was read
	Is      Respondent // with Rev one higher
	Channel weir.ChannelID
	Enqueue *weir.Spec // on Channel; its contact becomes Is.Contact
	// Reply is a contact on Channel that answers a message and does not become Is.Contact. If the channel
	// accepts nothing, or another's contact has the key, the move is made without it.
	Reply   *weir.Spec
	Answers []Recorded
	Log     []LogEntry
	Events  []events.Event
	Taken   []int64 // outbox entries that the move handles
	Attempt *Made   // an attempt whose outcome is now known, for the sums
	Mode    Mode    // of the respondent's step, for the sums; empty: not known
}

// Made is an ended attempt of a mode.
type Made struct {
	Mode    Mode
	Outcome weir.Outcome
}

// Work is a set of writes of a survey broker, in one transaction. The store derives
// the counts by status, disposition and bucket from the moves, and [Activity].
type Work struct {
	Survey int64
	Moves  []Move
	Taken  []int64 // outbox entries that need no move
	// Definition is that of the survey, by which answers are counted by attribute.
	Definition *Definition
}

// Replies returns the moves that make a reply on the channel of the first of them, which is that of all replies of a survey.
func (w *Work) Replies() (channel weir.ChannelID, list []*Move) {
	for i := range w.Moves {
		m := &w.Moves[i]
		if m.Reply == nil || m.Enqueue != nil {
			continue
		}
		if channel == 0 {
			channel = m.Channel
		}
		if m.Channel == channel {
			list = append(list, m)
		}
	}
	return channel, list
}

// Written is the result of a [Work].
type Written struct {
	// Stale lists respondents whose revision had changed; only their moves were not
	// applied. A second move of one respondent is stale, too.
	Stale []RespondentID
	// Refused lists the respondents of Stale whose contact's key belongs to a contact
	// of another respondent or of another Serial. A contact with that key and the
	// same For is that contact. With an error it lists the respondents whose channel
	// accepts nothing.
	Refused []RespondentID
	// Contacts lists the enqueued contacts, for waking their channels' brokers. It does
	// not include contacts that existed before.
	Contacts []weir.Contact
}

// Worker writes the moves of survey brokers.
type Worker interface {
	// Work applies moves and returns after the commit. After an error with
	// [weir.CodeUnavailable] it is unknown whether they were applied; the
	// respondents have to be read again. If the channel of a move is gone or
	// is being deleted, nothing of w is written: [weir.CodeConflict], and Refused
	// lists the respondents whose moves have to be left out.
	Work(ctx context.Context, w Work) (Written, error)
	// NewWork checks a Work that the broker of the channel of its replies takes part in.
	NewWork(ctx context.Context, w Work) (PendingWork, error)
}

// PendingWork is a Work in two steps: an acceptance of its [Work.Replies].
type PendingWork interface {
	weir.Acceptance
	// Written returns the result of Work, after Wait, whose result are the replies: they are not among its contacts.
	Written() Written
}

// Store stores surveys and their respondents.
type Store interface {
	// PutSurvey creates a survey, or replaces a draft, by its name.
	PutSurvey(ctx context.Context, s Survey, on document.Condition) (_ Survey, created bool, err error)
	// UpdateSurvey changes a survey if its version is still s.Version; otherwise it
	// returns weir.CodeConflict. A changed definition reassigns the respondents'
	// buckets only if the survey is a draft, in steps that survive a crash. Some steps
	// may be left to Sweep, but none of a launched survey. A survey does not become
	// done while one of its imports is being committed: [weir.CodePrecondition]. The
	// events of the change are written with it.
	UpdateSurvey(ctx context.Context, s Survey, tell ...events.Event) (Survey, error)
	Survey(ctx context.Context, name string) (Survey, error)
	// SurveyByID returns a survey whose definition others may have, too: it must not be changed.
	SurveyByID(ctx context.Context, id int64) (Survey, error)
	// Surveys lists by name; states empty: all.
	Surveys(ctx context.Context, states []State, after string, limit int) ([]Survey, error)
	// RemoveSurvey marks a survey as deleting and frees its name; [Store.Sweep]
	// removes its data. A survey that is neither a draft nor done stays:
	// [weir.CodeConflict], and so does a locked one: [weir.CodeLocked].
	RemoveSurvey(ctx context.Context, id int64) error
	// Sweep removes a bounded number of rows of surveys that are being deleted
	// and of aborted imports, and resumes interrupted steps. more reports whether
	// anything is left to do.
	Sweep(ctx context.Context, limit int) (more bool, err error)
}

// Importer loads, corrects and removes respondents. A survey that is stopping or done accepts none, and
// no import of it is committed: [weir.CodeConflict].
type Importer interface {
	// Add stores up to 1,000 respondents in order, except those whose number the
	// survey already has. It returns, for each, its id and whether it is a
	// duplicate. They are fresh, and their buckets follow from the survey's present
	// quotas. With an import they are invisible until it is committed; their
	// numbers stay taken unless it is aborted.
	Add(ctx context.Context, survey, imp int64, list []Respondent) ([]Added, error)
	// BeginImport starts an import whose respondents become visible all or none.
	BeginImport(ctx context.Context, survey int64) (int64, error)
	// CommitImport makes its respondents visible, AbortImport removes them. Both
	// may take many transactions; Sweep resumes them after a crash, and aborts an
	// import to which nothing was added for some minutes. Either may be repeated.
	CommitImport(ctx context.Context, survey, imp int64) error
	AbortImport(ctx context.Context, survey, imp int64) error
	// Correct changes respondents that were not contacted yet, and returns a result
	// for each. All changes are made in one transaction. A correction may be repeated.
	Correct(ctx context.Context, survey int64, list []Correction) ([]Corrected, error)
	// RemoveRespondent removes a respondent that has no open contact; otherwise it
	// returns weir.CodeConflict. Its attempts and its log remain.
	RemoveRespondent(ctx context.Context, survey int64, id RespondentID) error
}

// Added is the result for one respondent of [Importer.Add].
type Added struct {
	ID        RespondentID
	Duplicate bool
	// Unsure is set for a duplicate if the respondent with the number belongs to
	// another import that may yet be aborted: then the survey would lose it.
	Unsure bool
}

// Filter selects respondents. Zero fields select everything.
type Filter struct {
	Survey       int64
	Statuses     []Status
	Dispositions []Disposition
	Since, Until time.Time // last changed at or after Since, before Until
	Phone        string    // as E.164, in any notation of it
	After        RespondentID
	Limit        int
}

// Sparse reports whether the filter may omit respondents of the survey.
func (f *Filter) Sparse() bool {
	return len(f.Statuses)+len(f.Dispositions) > 0 || f.Phone != "" || !f.Since.IsZero() || !f.Until.IsZero()
}

// Matches reports whether the filter selects a respondent of the survey, wherever its page begins.
func (f *Filter) Matches(r *Respondent) bool {
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status)) &&
		(len(f.Dispositions) == 0 || slices.Contains(f.Dispositions, r.Disposition)) &&
		(f.Phone == "" || phonenumber.Identity(f.Phone) == phonenumber.Identity(r.Phone)) &&
		(f.Since.IsZero() || !r.LastChange().Before(f.Since)) &&
		(f.Until.IsZero() || r.LastChange().Before(f.Until))
}

// TextFilter selects answers to a question.
type TextFilter struct {
	Survey   int64
	Question string
	Matches  func(text string) bool // nil: all
	After    RespondentID
	Limit    int
}

// AnswerText is what a respondent answered to a question.
type AnswerText struct {
	Respondent RespondentID
	Text       string
	At         time.Time
}

// RespondentReader reads respondents. Each call reads a number of rows that does
// not grow with the number of respondents, apart from the returned ones.
type RespondentReader interface {
	Respondent(ctx context.Context, survey int64, id RespondentID) (Respondent, error)
	// RespondentsByID returns respondents by their ids, in no order; unknown ids are skipped.
	RespondentsByID(ctx context.Context, ids []RespondentID) ([]Respondent, error)
	// Respondents lists by id. It reads a bounded number of rows, so a page may be
	// short; next is zero on the last page.
	Respondents(ctx context.Context, f Filter) (_ []Respondent, next RespondentID, err error)
	// ByPhone returns the respondents of all surveys with a number, in any
	// notation of it, newest first.
	ByPhone(ctx context.Context, phone string, limit int) ([]Respondent, error)
	// ByPhones is ByPhone for several numbers, by the numbers as they were given: at most limit
	// of each.
	ByPhones(ctx context.Context, phones []string, limit int) (map[string][]Respondent, error)
	// Startable returns pending respondents that are not delayed, in order of
	// acceptance; of delayed ones, the earliest due first. Full buckets are skipped.
	Startable(ctx context.Context, survey int64, now time.Time, full []int, limit int) ([]Respondent, error)
	// Rejectable returns pending respondents of the given buckets.
	Rejectable(ctx context.Context, survey int64, full []int, limit int) ([]Respondent, error)
	// DueRespondents returns active respondents that are due, earliest first, and the
	// instant at which the next one is due (zero: none).
	DueRespondents(ctx context.Context, survey int64, now time.Time, limit int) (_ []Respondent, next time.Time, err error)
	// LatestDue returns active respondents, those whose next steps are the latest first.
	LatestDue(ctx context.Context, survey int64, limit int) ([]Respondent, error)
	// Open returns respondents that are pending or active, to be canceled.
	Open(ctx context.Context, survey int64, limit int) ([]Respondent, error)
	Counts(ctx context.Context, survey int64) (Sums, error)
	// Answers returns the answers of respondents to questions, by respondent and question.
	Answers(ctx context.Context, survey int64, ids []RespondentID) (map[RespondentID]map[string]questions.Answer, error)
	// AnswerSums returns how many answers there are. The keys have only the column by which they are grouped.
	AnswerSums(ctx context.Context, f SumFilter) (map[AnswerSum]int, error)
	// AnswerTexts lists the answers to a question in the order of the respondents. It examines a bounded
	// number of answers, so a page may be short; next is zero on the last page.
	AnswerTexts(ctx context.Context, f TextFilter) (_ []AnswerText, next RespondentID, err error)
	// Activity lists what respondents came to, in the order of time.
	Activity(ctx context.Context, survey int64) ([]Activity, error)
}

// PacingReader reads what limits how many contacts are enqueued.
type PacingReader interface {
	// EnqueuedSince returns the number of contacts that a survey enqueued since, by second.
	EnqueuedSince(ctx context.Context, survey int64, since time.Time) (map[time.Time]int, error)
	// ReadySlots sums the slots of a channel's queued contacts, without delayed ones:
	// of at most limit contacts of the given lanes, and of about as many of all
	// others. It skips contacts of more than largest slots: they are blocked, and no
	// other contact waits behind them.
	ReadySlots(ctx context.Context, channel weir.ChannelID, lanes []weir.Lane, largest, limit int) (Ready, error)
}

// LogReader reads the log of a survey.
type LogReader interface {
	// Log returns entries with a greater id, oldest first.
	Log(ctx context.Context, survey, after int64, limit int) ([]LogEntry, error)
	// Recent returns entries, newest first. next is the value of Before for the next
	// page; 0: there is none. A page about one respondent may be short or empty,
	// because a call examines a bounded number of entries.
	Recent(ctx context.Context, f LogFilter) (_ []LogEntry, next int64, err error)
}

// Outbox holds the outbox entries that no move has handled yet.
type Outbox interface {
	// OutboxEntries lists the oldest outbox entries with a greater id. Ids are only roughly
	// in the order of time: another connection may yet commit one with a
	// smaller id, so a reader that has handled all starts at 0 again.
	OutboxEntries(ctx context.Context, after int64, limit int) ([]OutboxEntry, error)
	// OnOutboxEntries registers a function that is called after each commit of this process
	// with outbox entries. The function must not block. It replaces the previous
	// one.
	OnOutboxEntries(committed func())
}

// Ready is the number of slots of the queued contacts of a channel.
type Ready struct {
	Ours   int // of the given lanes
	Others int
}

// Sums are the store's counters of a survey.
type Sums struct {
	// Respondents are counted by status, disposition, bucket, whether they count
	// toward the target, and the furthest step.
	Respondents map[Group]int
	// Attempts counts ended attempts by mode and outcome.
	Attempts map[Made]int
}

// Group is the key by which respondents are counted.
type Group struct {
	Status      Status
	Disposition Disposition
	Bucket      int
	Counted     bool
	Furthest    Disposition // of the [Funnel]
}

// Group returns the key by which a respondent is counted.
func (r *Respondent) Group() Group {
	return Group{r.Status, r.Disposition, r.Bucket, r.Counted, r.FurthestStep()}
}

// Funnel returns how many respondents came to each step of the [Funnel].
func (s Sums) Funnel() []int {
	steps := Funnel()
	reached := make([]int, len(steps))
	for g, n := range s.Respondents {
		for i := range slices.Index(steps, g.Furthest) + 1 {
			reached[i] += n
		}
	}
	return reached
}

// ChannelState is a survey broker's last observation of a channel, stored so that a
// change is reported once, also across restarts.
type ChannelState struct {
	Channel weir.ChannelID
	Health  weir.Health
	Reason  string
	Since   time.Time
}

// ChannelStateStore stores the channel states.
type ChannelStateStore interface {
	ChannelStates(ctx context.Context) ([]ChannelState, error)
	// SetChannelState stores a state and its events in one transaction.
	SetChannelState(ctx context.Context, s ChannelState, tell []events.Event) error
}

// LogFilter selects entries of a survey's log. Zero fields select everything.
type LogFilter struct {
	Survey       int64
	Before       int64     // only entries with a smaller id
	Since, Until time.Time // at or after Since, before Until; precision is a millisecond
	Respondent   RespondentID
	Limit        int
}
