package surveys

import (
	"context"
	"time"

	"weir"
	"weir/events"
)

// Move is one step of one respondent: what it becomes, and what goes with it in
// the same transaction. It is made only if the respondent still has the
// revision Rev-1 of the new value.
type Move struct {
	Was     Respondent // as it was read
	Is      Respondent // with Rev one more
	Channel weir.ChannelID
	Enqueue *weir.Spec // on Channel; its contact becomes Is.Contact
	Log     []Entry
	Events  []events.Event
	Taken   []int64 // notices that the move deals with
	Attempt *Made   // an attempt whose outcome is known now, for the sums
}

// Made is an attempt of a mode that ended.
type Made struct {
	Mode    Mode
	Outcome weir.Outcome
}

// Work is what a survey broker wants written as one. Counts by status,
// disposition and bucket follow from the moves; the store keeps them.
type Work struct {
	// Lease is that of the role of the survey broker, without which nothing is
	// written: another process may decide by now. The zero one is not asked for,
	// as applications report to any process.
	Lease  weir.Lease
	Survey int64
	Moves  []Move
	Taken  []int64 // notices that need no move
}

// Written says what became of a [Work].
type Written struct {
	// Stale lists respondents whose revision was another; their moves, and only
	// theirs, were not made. A second move of one respondent is stale, too.
	Stale []RespondentID
	// Refused lists those of Stale whose contact's key is that of a contact which
	// is for somebody else, or for another Serial. A contact with that key and
	// the same For is that contact. With an error it lists those whose channel
	// takes nothing.
	Refused []RespondentID
	// Contacts are those that were enqueued, for their channels' brokers to be
	// told. One that was there before is not among them.
	Contacts []weir.Contact
}

// Worker writes what survey brokers do.
type Worker interface {
	// Work makes moves and returns after the commit. An error with
	// [weir.CodeUnavailable] leaves it open whether they were made; the
	// respondents have to be read again. If the channel of a move is gone or
	// is being deleted nothing of w is written: [weir.CodeConflict], and Refused
	// says whose moves have to be left out. If w's lease is not good any more:
	// [weir.ErrLeaseLost].
	Work(ctx context.Context, w Work) (Written, error)
}

// Store keeps surveys and what they have.
type Store interface {
	// PutSurvey creates a survey, or replaces one that is a draft, by its name.
	PutSurvey(ctx context.Context, s Survey) (_ Survey, created bool, err error)
	// UpdateSurvey changes a survey if its version is still s.Version, else it
	// answers weir.CodeConflict. A changed definition gives its respondents
	// other buckets only if it is a draft, in steps that a crash does not lose,
	// of which some may be left to Sweep. A survey that is launched has them all.
	// A survey does not become done while an import of it is being committed:
	// [weir.CodePrecondition]. The events that tell of the change are written
	// with it.
	UpdateSurvey(ctx context.Context, s Survey, tell ...events.Event) (Survey, error)
	Survey(ctx context.Context, name string) (Survey, error)
	SurveyByID(ctx context.Context, id int64) (Survey, error)
	// Surveys lists by name; states empty: all.
	Surveys(ctx context.Context, states []State, after string, limit int) ([]Survey, error)
	// RemoveSurvey marks a survey as deleting and frees its name; [Store.Sweep]
	// removes what it has. One that is neither a draft nor done stays:
	// [weir.CodeConflict].
	RemoveSurvey(ctx context.Context, id int64) error
	// Sweep removes a bounded number of rows of surveys that are being deleted
	// and of imports that were given up, and goes on with what was interrupted.
	// more says that there is more to do.
	Sweep(ctx context.Context, limit int) (more bool, err error)
}

// Importer loads respondents. A survey that is stopping or done takes none, and
// lets no import be committed: [weir.CodeConflict].
type Importer interface {
	// Add stores up to 1,000 respondents in order. Those whose number the survey
	// has are not stored. It gives, for each, its id and whether it is a
	// duplicate. Their buckets are those of the survey's quotas now. With an
	// import they are fresh, and invisible until it is committed; their numbers
	// are taken as long as it is not aborted.
	Add(ctx context.Context, survey, imp int64, list []Respondent) ([]Added, error)
	// BeginImport announces an import that is to be visible whole or not at all.
	BeginImport(ctx context.Context, survey int64) (int64, error)
	// CommitImport makes its respondents visible, AbortImport removes them. Both
	// may take many transactions; what a crash interrupts goes on in Sweep. An
	// import to which nothing was added for some minutes is aborted there. Either may
	// be called again.
	CommitImport(ctx context.Context, survey, imp int64) error
	AbortImport(ctx context.Context, survey, imp int64) error
}

// Added is the answer for one respondent of [Importer.Add].
type Added struct {
	ID        RespondentID
	Duplicate bool
	// Unsure says of a duplicate that who has the number is of another import
	// that may yet be taken back: then the survey would have it no more.
	Unsure bool
}

// Filter selects respondents. Zero fields select everything.
type Filter struct {
	Survey       int64
	Statuses     []Status
	Dispositions []Disposition
	Phone        string
	After        RespondentID
	Limit        int
}

// Reading reads what surveys have. Each call reads a number of rows that does
// not grow with the number of respondents, apart from what it returns.
type Reading interface {
	Respondent(ctx context.Context, survey int64, id RespondentID) (Respondent, error)
	// Some reads respondents by their ids, in no order; unknown ones are left out.
	Some(ctx context.Context, ids []RespondentID) ([]Respondent, error)
	// Respondents lists by id; it reads a bounded number of rows, so that a page
	// may be short; next is zero on the last page.
	Respondents(ctx context.Context, f Filter) (_ []Respondent, next RespondentID, err error)
	// ByPhone reads everybody, of any survey, who has a number; newest first.
	ByPhone(ctx context.Context, phone string, limit int) ([]Respondent, error)
	// Startable reads pending respondents who are not set aside, in order of
	// acceptance; of those who were, the ones whose time came first. buckets that are full are passed over.
	Startable(ctx context.Context, survey int64, now time.Time, full []int, limit int) ([]Respondent, error)
	// Rejectable reads pending respondents of the given buckets.
	Rejectable(ctx context.Context, survey int64, full []int, limit int) ([]Respondent, error)
	// DueRespondents reads active respondents whose time has come, longest ago
	// first, and says when the next one's comes (zero: none).
	DueRespondents(ctx context.Context, survey int64, now time.Time, limit int) (_ []Respondent, next time.Time, err error)
	// Open reads respondents who are pending or active, to be canceled.
	Open(ctx context.Context, survey int64, limit int) ([]Respondent, error)
	Counts(ctx context.Context, survey int64) (Sums, error)
	// Log reads entries with a greater id, oldest first.
	Log(ctx context.Context, survey, after int64, limit int) ([]Entry, error)
	// Recent reads entries, newest first. next is where a further page goes on, as
	// Before; 0: there is none. A page about one respondent may be short or empty, as
	// a call examines a bounded number of entries.
	Recent(ctx context.Context, f LogFilter) (_ []Entry, next int64, err error)
	// Begun counts the contacts that a survey enqueued since, by second.
	Begun(ctx context.Context, survey int64, since time.Time) (map[time.Time]int, error)
	// Notices lists the oldest notices with a greater id. Ids are about in the
	// order of time: one with a smaller id may yet come from another process or
	// connection, so that who has dealt with all begins at 0 again.
	Notices(ctx context.Context, after int64, limit int) ([]Notice, error)
	// ReadySlots adds up the slots of the contacts of a channel that wait for their
	// turn, not for an instant: of at most limit contacts of the given lanes, and of
	// about as many of all others. Contacts of more than largest slots do not count:
	// they are blocked, and no contact waits for them.
	ReadySlots(ctx context.Context, channel weir.ChannelID, lanes []weir.Lane, largest, limit int) (Ready, error)
}

// Ready is how many slots wait for their turn on a channel.
type Ready struct {
	Ours   int // of the lanes that were asked for
	Others int
}

// Notifier tells of notices as soon as there are some.
type Notifier interface {
	// OnNotices has a function called after each commit of this process that
	// brought notices; it must not wait for anything. It replaces what was set
	// before.
	OnNotices(committed func())
}

// Sums are what the store counts of a survey.
type Sums struct {
	// Respondents are counted by status, disposition, bucket and whether they
	// count towards the target.
	Respondents map[Group]int
	// Attempts are those that ended, by mode and outcome.
	Attempts map[Made]int
}

// Group is what respondents have in common who are counted together.
type Group struct {
	Status      Status
	Disposition Disposition
	Bucket      int
	Counted     bool
}

// ChannelState is what a survey broker has seen of a channel, kept so that a
// change is told once, also over restarts.
type ChannelState struct {
	Channel weir.ChannelID
	Health  weir.Health
	Reason  string
	Since   time.Time
}

// ChannelStates keeps them.
type ChannelStates interface {
	ChannelStates(ctx context.Context) ([]ChannelState, error)
	// SetChannelState stores a state, and the events that tell of it, as one.
	SetChannelState(ctx context.Context, s ChannelState, tell []events.Event) error
}

// LogFilter selects entries of a survey's log. Zero fields select everything.
type LogFilter struct {
	Survey       int64
	Before       int64     // only entries with a smaller id
	Since, Until time.Time // not before one, and before the other, to the millisecond
	Respondent   RespondentID
	Limit        int
}
