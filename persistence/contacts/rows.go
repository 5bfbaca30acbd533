package contacts

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"weir"
	"weir/internal/plainjson"
	"weir/persistence/columns"
)

// specColumns are the columns of contacts.
const (
	specColumns = "channel_id, id, ckey, addr, priority, survey, labels, content, not_before, not_after, size, queued_at, lane, for_survey, for_id, for_serial"
	specWidth   = 16
)

// contactColumns are the columns of a contact with its state: 1 is [weir.Queued], 2
// [weir.Delayed], 6 [weir.Done]. Its states are disjoint: a contact has one row in
// contacts_queued, contacts_delayed or contacts_done, or it is in flight, which is
// state 0 here; see [Reader.resolve].
const contactColumns = "c.channel_id, c.id, c.ckey, c.addr, c.priority, c.survey, c.labels, c.content, c.not_before, c.not_after, " +
	"c.size, c.queued_at, c.lane, c.for_survey, c.for_id, c.for_serial, " +
	"CASE WHEN e.id IS NOT NULL THEN 6 WHEN q.id IS NOT NULL THEN 1 WHEN d.id IS NOT NULL THEN 2 ELSE 0 END AS state, " +
	"COALESCE(e.rev, q.rev, d.rev, 0) AS rev, COALESCE(d.due_at, 0) AS due_at, COALESCE(e.progress, q.progress, d.progress) AS progress, " +
	"COALESCE(e.finished_at, 0) AS finished_at, COALESCE(e.outcome, '') AS outcome"

const withState = " FROM contacts c" + statesOf

// statesOf joins contacts with the tables of their states.
const statesOf = "" +
	" LEFT JOIN contacts_queued q ON q.channel_id = c.channel_id AND q.lane = c.lane AND q.id = c.id" +
	" LEFT JOIN contacts_delayed d ON d.channel_id = c.channel_id AND d.id = c.id" +
	" LEFT JOIN contacts_done e ON e.channel_id = c.channel_id AND e.id = c.id"

// indexedContacts is withState for contacts that contacts_by_channel finds, in its order.
const indexedContacts = " FROM contacts_by_channel o CROSS JOIN contacts c ON c.id = o.id AND c.channel_id = o.channel_id" + statesOf

// byIDs selects contacts of a channel by their ids.
func byIDs(n int) string { return " WHERE c.channel_id = ? AND c.id IN " + columns.Marks(n) }

// noState leaves contacts that have no row in the table of a state.
const noState = " AND q.id IS NULL AND d.id IS NULL AND e.id IS NULL"

// contactRow is a contact as it is read.
type contactRow struct {
	Channel    int64   `db:"channel_id"`
	ID         int64   `db:"id"`
	Key        *string `db:"ckey"`
	Addr       string  `db:"addr"`
	Priority   int8    `db:"priority"`
	Survey     string  `db:"survey"`
	Labels     string  `db:"labels"`
	Content    string  `db:"content"`
	NotBefore  int64   `db:"not_before"`
	NotAfter   int64   `db:"not_after"`
	Size       int64   `db:"size"`
	QueuedAt   int64   `db:"queued_at"`
	Lane       int64   `db:"lane"`
	ForSurvey  int64   `db:"for_survey"`
	ForID      int64   `db:"for_id"`
	ForSerial  int     `db:"for_serial"`
	State      int8    `db:"state"`
	Rev        int64   `db:"rev"`
	DueAt      int64   `db:"due_at"`
	Progress   []byte  `db:"progress"`
	FinishedAt int64   `db:"finished_at"` // for filters, as Outcome: both are in Progress
	Outcome    string  `db:"outcome"`

	latest weir.Progress // of a contact in flight
	place  place         // in a list
}

// place is where a contact stands in a list: its lane and position there, which
// is an id or an instant.
type place struct {
	ID   int64 `db:"id"`
	Lane int64 `db:"lane"`
	Pos  int64 `db:"pos"`
}

// headColumns are the columns of contacts in the queue.
const headColumns = "c.channel_id, c.id, c.ckey, c.addr, c.priority, c.survey, c.labels, c.content, c.not_before, c.not_after, " +
	"c.size, c.queued_at, c.lane, c.for_survey, c.for_id, c.for_serial, q.rev, q.progress"

// headFields are the destinations of headColumns.
func (r *contactRow) headFields() []any {
	return []any{
		&r.Channel, &r.ID, &r.Key, &r.Addr, &r.Priority, &r.Survey, &r.Labels, &r.Content, &r.NotBefore, &r.NotAfter,
		&r.Size, &r.QueuedAt, &r.Lane, &r.ForSurvey, &r.ForID, &r.ForSerial, &r.Rev, &r.Progress,
	}
}

func (r *contactRow) ref() weir.Ref {
	return weir.Ref{Channel: weir.ChannelID(r.Channel), ID: weir.ContactID(r.ID)}
}

// compareRefs orders contacts. All who write do it in this order, so that two do not wait for
// each other.
func compareRefs(a, b weir.Ref) int {
	return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.ID, b.ID))
}

// content is the part of a contact that the store does not look into.
type content struct {
	Trace    string     `json:"trace,omitempty"`
	Messages []string   `json:"messages,omitempty"`
	Call     *weir.Call `json:"call,omitempty"`
	Purpose  string     `json:"purpose,omitempty"`
	TimeZone string     `json:"time_zone,omitempty"`
}

// encodeContent returns the part of a contact that the store does not look into.
func encodeContent(s *weir.Spec) (string, error) {
	if s.Call == nil && len(s.Messages) > 0 && s.Trace == "" && s.Purpose == "" && s.TimeZone == "" {
		b := make([]byte, 0, 24+len(s.Messages)*4+len(s.Messages[0]))
		b = append(b, `{"messages":[`...)
		for i, m := range s.Messages {
			if i > 0 {
				b = append(b, ',')
			}
			b = plainjson.AppendText(b, m)
		}
		return string(append(b, "]}"...)), nil
	}
	body, err := json.Marshal(content{s.Trace, s.Messages, s.Call, s.Purpose, s.TimeZone})
	if err != nil {
		return "", fmt.Errorf("encode the content: %w", err)
	}
	return string(body), nil
}

// NewContact makes the contact of a spec that is accepted now. Instants are cut
// to what the store keeps.
func NewContact(ref weir.Ref, spec weir.Spec, now time.Time) weir.Contact {
	spec.NotBefore, spec.NotAfter = columns.Instant(columns.Micros(spec.NotBefore)), columns.Instant(columns.Micros(spec.NotAfter))
	now = columns.Instant(columns.Micros(now))
	return weir.Contact{Ref: ref, Spec: spec, QueuedAt: now, Progress: weir.NewProgress(now, spec.NotBefore)}
}

// contact returns the contact of a row, for callers that act on it.
func (r *contactRow) contact() (weir.Contact, error) {
	c, err := r.readable()
	if err != nil {
		return weir.Contact{}, fmt.Errorf("contact %d-%d cannot be read: %w", r.Channel, r.ID, err)
	}
	return c, nil
}

// readable returns the contact of a row, without labels and content that cannot
// be read: one such row must not take down the lists that it is in.
func (r *contactRow) readable() (weir.Contact, error) {
	body, err := decodeContent(r.Content)
	labels, wrong := columns.DecodeTexts(r.Labels)
	progress, lost := r.progress()
	spec := weir.Spec{
		To: r.Addr, Priority: weir.Priority(r.Priority), Survey: r.Survey, Labels: labels,
		Messages: body.Messages, Call: body.Call, Trace: body.Trace, Purpose: body.Purpose, TimeZone: body.TimeZone, NotBefore: columns.Instant(r.NotBefore), NotAfter: columns.Instant(r.NotAfter),
		Owner: weir.Owner{Group: r.ForSurvey, ID: r.ForID, Serial: r.ForSerial},
	}
	if r.Key != nil {
		spec.Key = *r.Key
	}
	return weir.Contact{
		Ref: r.ref(), Spec: spec, QueuedAt: columns.Instant(r.QueuedAt), Progress: progress,
	}, errors.Join(err, wrong, lost)
}

// decodeContent reads what encodeContent wrote. One plain message, which most
// contacts have, needs no decoder.
func decodeContent(text string) (content, error) {
	if plain, ok := strings.CutPrefix(text, `{"messages":["`); ok {
		if plain, ok = strings.CutSuffix(plain, `"]}`); ok && columns.IsPlain(plain) {
			return content{Messages: []string{plain}}, nil
		}
	}
	var body content
	err := json.Unmarshal([]byte(text), &body)
	return body, err
}

func (r *contactRow) progress() (weir.Progress, error) {
	switch state := weir.State(r.State); {
	case state == 0:
		return r.latest, nil
	case r.Progress == nil:
		return weir.Progress{State: state, DueAt: columns.Instant(r.DueAt)}, nil
	default:
		p, err := decodeProgress(r.Progress)
		if err != nil {
			p = weir.Progress{State: state, Rev: r.Rev, DueAt: columns.Instant(r.DueAt), FinishedAt: columns.Instant(r.FinishedAt), Outcome: weir.Outcome(r.Outcome)}
		}
		return p, err
	}
}

// contacts returns the contacts of rows.
func contacts(rows []contactRow) ([]weir.Contact, error) {
	list := make([]weir.Contact, 0, len(rows))
	for i := range rows {
		c, err := rows[i].contact()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Bounds of what comes from outside, in characters; keys in bytes.
const (
	maxKey      = 1020
	maxAddr     = 255
	maxSurvey   = 255
	maxMessages = 1000
	maxContent  = 1 << 20
)

// CheckSpec refuses what does not fit the columns of every dialect, so that
// all of them answer alike.
func CheckSpec(i int, s *weir.Spec) []weir.FieldError {
	var list []weir.FieldError
	tooLong := func(field string, length, most int) {
		if length > most {
			list = append(list, weir.FieldError{
				Pointer: fmt.Sprintf("/contacts/%d/%s", i, field), Code: "length",
				Detail: fmt.Sprintf("may have %d at most", most),
			})
		}
	}
	tooLong("key", len(s.Key), maxKey)
	tooLong("to", utf8.RuneCountInString(s.To), maxAddr)
	tooLong("survey", utf8.RuneCountInString(s.Survey), maxSurvey)
	tooLong("messages", len(s.Messages), maxMessages)
	tooLong("messages", SpecBytes(s), maxContent)
	return list
}

// SpecBytes is about what a spec takes in a statement.
func SpecBytes(s *weir.Spec) int {
	n := 200 + len(s.Trace) + len(s.Key) + len(s.To) + len(s.Survey)
	for k, v := range s.Labels {
		n += len(k) + len(v) + 8
	}
	for _, m := range s.Messages {
		n += len(m) + 4
	}
	if s.Call != nil {
		n += len(s.Call.TwiML) + len(s.Call.CallbackURL) + 60
	}
	return n
}

// record is the progress of a contact in flight, as a row of contacts_in_flight
// holds it.
type record struct {
	ref      weir.Ref
	progress weir.Progress
}

// recordVersion begins every encoded progress and every row of records.
const recordVersion = 1

var errRecord = errors.New("the record is truncated or of an unknown version")

// appendRecord adds a record to a row, which begins with recordVersion.
func appendRecord(b []byte, r *record) []byte {
	b = binary.AppendUvarint(b, uint64(r.ref.Channel))
	return appendProgress(binary.AppendUvarint(b, uint64(r.ref.ID)), &r.progress)
}

func appendProgress(b []byte, p *weir.Progress) []byte {
	flags := byte(columns.Number(p.CancelRequested))
	if p.Receipt != (weir.Receipt{}) {
		flags |= hasReceipt
	}
	b = append(binary.AppendUvarint(b, uint64(p.Rev)), byte(p.State), flags)
	for _, n := range [...]int64{int64(p.Attempt), int64(p.Failures)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, t := range [...]time.Time{p.DueAt, p.ClaimedAt, p.SentAt, p.HeardAt, p.FinishedAt} {
		b = binary.AppendVarint(b, columns.Micros(t))
	}
	for _, s := range [...]string{p.ProviderRef, p.Parts, string(p.Outcome), p.Reason} {
		b = columns.AppendString(b, s)
	}
	if flags&hasReceipt != 0 {
		b = columns.AppendString(b, p.Receipt.Rule)
		b = binary.AppendVarint(b, columns.Micros(p.Receipt.Until))
		b = columns.AppendString(b, p.Receipt.Facts)
	}
	return b
}

// Flags of an encoded progress.
const (
	cancelRequested = 1 << iota
	hasReceipt
)

// encodeWaiting returns the progress of a waiting contact; nil if it is that of a
// contact that was just accepted.
func encodeWaiting(p *weir.Progress) []byte {
	if p.Rev == 0 {
		return nil
	}
	return EncodeProgress(*p)
}

// EncodeProgress returns a progress as the tables hold it.
func EncodeProgress(p weir.Progress) []byte {
	p = kept(p)
	return appendProgress([]byte{recordVersion}, &p)
}

// decodeProgress reads the result of EncodeProgress.
func decodeProgress(data []byte) (weir.Progress, error) {
	if len(data) == 0 || data[0] != recordVersion {
		return weir.Progress{}, errRecord
	}
	r := columns.Reader{Rest: data[1:]}
	p := readProgress(&r)
	if r.Broken || len(r.Rest) > 0 {
		return weir.Progress{}, errRecord
	}
	return p, nil
}

// decodeRecords reads a row of records.
func decodeRecords(data []byte) ([]record, error) {
	if len(data) == 0 || data[0] != recordVersion {
		return nil, errRecord
	}
	r := columns.Reader{Rest: data[1:]}
	var list []record
	for len(r.Rest) > 0 {
		ref := weir.Ref{Channel: weir.ChannelID(r.Count()), ID: weir.ContactID(r.Count())}
		list = append(list, record{ref, readProgress(&r)})
		if r.Broken {
			return nil, fmt.Errorf("record %d: %w", len(list), errRecord)
		}
	}
	return list, nil
}

func readProgress(r *columns.Reader) (p weir.Progress) {
	p.Rev = r.Count()
	p.State = weir.State(r.Byte())
	flags := r.Byte()
	p.CancelRequested = flags&cancelRequested != 0
	p.Attempt, p.Failures = int(r.Count()), int(r.Count())
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt} {
		*t = r.Instant()
	}
	p.ProviderRef, p.Parts = r.Text(), r.Text()
	p.Outcome, p.Reason = weir.Outcome(r.Text()), r.Text()
	if flags&hasReceipt != 0 {
		p.Receipt.Rule, p.Receipt.Until, p.Receipt.Facts = r.Text(), r.Instant(), r.Text()
	}
	return p
}

// kept returns a progress as the store will return it: instants in microseconds,
// texts cut to their columns.
func kept(p weir.Progress) weir.Progress {
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt, &p.Receipt.Until} {
		*t = columns.Instant(columns.Micros(*t))
	}
	p.ProviderRef, p.Reason = columns.Clip(p.ProviderRef), columns.Clip(p.Reason)
	return p
}
