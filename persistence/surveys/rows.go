package surveys

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"weir"
	"weir/internal/plainjson"
	"weir/persistence/columns"
	"weir/surveys"
	"weir/surveys/questions"
)

// States of an import. An import that is committing or aborting is resumed until it is done.
const (
	importOpen       = "open"
	importCommitting = "committing"
	importCommitted  = "committed"
	importAborting   = "aborting"
	importAborted    = "aborted"
)

// hidden is the status, in the table, of respondents whose import is not
// committed. Those of others count from 1, in the order of [surveys.Statuses].
const hidden = 0

// move is a move that is being made.
type move struct {
	*surveys.Move
	is       surveys.Respondent // with its contact
	contact  int64              // the id for a new one
	log      []int64            // the ids of its entries
	accepted weir.Accepted
}

func statusNumber(s surveys.Status) int64 { return int64(slices.Index(surveys.Statuses(), s)) + 1 }

func statusOf(n int64) surveys.Status {
	if n < 1 || n > int64(len(surveys.Statuses())) {
		return ""
	}
	return surveys.Statuses()[n-1]
}

// respondentRow is a row of respondents.
type respondentRow struct {
	ID             int64  `db:"id"`
	Survey         int64  `db:"survey_id"`
	Rev            int64  `db:"rev"`
	Phone          string `db:"phone"`
	Attributes     string `db:"attributes"`
	Bucket         int    `db:"bucket"`
	Status         int64  `db:"status"`
	Disposition    string `db:"disposition"`
	Counted        bool   `db:"counted"`
	ContactChannel int64  `db:"contact_channel"`
	ContactID      int64  `db:"contact_id"`
	ReachedAt      int64  `db:"reached_at"`
	AddedAt        int64  `db:"added_at"`
	StartedAt      int64  `db:"started_at"`
	FinishedAt     int64  `db:"finished_at"`
	Progress       string `db:"progress"`
}

const (
	respondentColumns = "id, survey_id, rev, phone, attributes, bucket, status, disposition, counted, " +
		"contact_channel, contact_id, reached_at, added_at, started_at, finished_at, progress"
	respondentInsert = respondentColumns + ", lane, next_at"
)

// further is the part of a progress that the store does not look into.
type further struct {
	Arm          int             `json:"arm,omitempty"`
	Step         int             `json:"step,omitempty"`
	Tries        int             `json:"tries,omitempty"`
	Attempts     surveys.Counts  `json:"attempts,omitzero"`
	Unproven     bool            `json:"unproven,omitempty"`
	Contact      surveys.Stage   `json:"contact,omitempty"`
	Serial       int             `json:"serial,omitempty"`
	Closes       int64           `json:"closes,omitempty"`
	DueAt        int64           `json:"due_at,omitempty"`
	Retries      int             `json:"retries,omitempty"`
	DelayedUntil int64           `json:"delayed_until,omitempty"`
	Early        int             `json:"early,omitempty"`
	UpdatedAt    int64           `json:"updated_at,omitempty"`
	OptedOut     bool            `json:"opted_out,omitempty"`
	Furthest     string          `json:"furthest,omitempty"`
	Totals       surveys.Totals  `json:"totals,omitzero"`
	Talk         questions.State `json:"talk,omitzero"`
	Said         weir.Ref        `json:"said,omitzero"`
}

func encodeProgress(r *surveys.Respondent) string {
	p := &r.Progress
	b, _ := json.Marshal(further{ // numbers always encode
		p.Arm, p.Step, p.Tries, p.Attempts, p.Unconfirmed, p.Contact, p.Serial,
		columns.Micros(p.WindowEnd), columns.Micros(p.DueAt), p.FailedSteps, columns.Micros(p.DelayedUntil), p.EarlyExpiries, columns.Micros(r.Updated), p.OptedOut, string(p.Furthest), p.Totals, p.Talk, r.Said,
	})
	return string(b)
}

func encodeAttributes(attributes map[string]string) string {
	if len(attributes) == 0 {
		return "{}"
	}
	b, _ := json.Marshal(attributes) // texts always encode
	return string(b)
}

func (r *respondentRow) respondent() (surveys.Respondent, error) {
	var f further
	out := surveys.Respondent{
		Survey: r.Survey, ID: surveys.RespondentID(r.ID), Rev: r.Rev, Phone: r.Phone, Bucket: r.Bucket,
		Contact: weir.Ref{Channel: weir.ChannelID(r.ContactChannel), ID: weir.ContactID(r.ContactID)},
		Reached: columns.Instant(r.ReachedAt), Added: columns.Instant(r.AddedAt), Started: columns.Instant(r.StartedAt), Finished: columns.Instant(r.FinishedAt),
	}
	if err := json.Unmarshal([]byte(r.Progress), &f); err != nil {
		return out, fmt.Errorf("respondent %d: its progress cannot be read: %w", r.ID, err)
	}
	out.Updated, out.Said = columns.Instant(f.UpdatedAt), f.Said
	var err error
	if out.Attributes, err = columns.DecodeTexts(r.Attributes); err != nil {
		return out, fmt.Errorf("respondent %d: its attributes cannot be read: %w", r.ID, err)
	}
	out.Progress = surveys.Progress{
		Status: statusOf(r.Status), Disposition: surveys.Disposition(r.Disposition), Counted: r.Counted,
		Arm: f.Arm, Step: f.Step, Tries: f.Tries, Attempts: f.Attempts, Unconfirmed: f.Unproven, Contact: f.Contact, Serial: f.Serial,
		WindowEnd: columns.Instant(f.Closes), DueAt: columns.Instant(f.DueAt), FailedSteps: f.Retries, DelayedUntil: columns.Instant(f.DelayedUntil), EarlyExpiries: f.Early, OptedOut: f.OptedOut, Furthest: surveys.Disposition(f.Furthest), Totals: f.Totals, Talk: f.Talk,
	}
	return out, nil
}

// stand is where a respondent stands in the queue index.
func stand(r *surveys.Respondent) (lane, nextAt int64) {
	switch r.Status {
	case surveys.Pending:
		return int64(r.Bucket), columns.Micros(r.DelayedUntil)
	case surveys.Active:
		return 0, columns.Micros(r.DueAt)
	default:
		return 0, 0
	}
}

// newRespondent are the values of respondentInsert of one who is added. One of
// an import stands in the index under the import.
func newRespondent(id int64, imp int64, r *surveys.Respondent) []any {
	status := statusNumber(r.Status)
	lane, nextAt := stand(r)
	if imp != 0 {
		status, lane, nextAt = hidden, 0, imp
	}
	return []any{
		id, r.Survey, r.Rev, r.Phone, encodeAttributes(r.Attributes), int64(r.Bucket), status, string(r.Disposition), columns.Number(r.Counted),
		int64(r.Contact.Channel), int64(r.Contact.ID), columns.Micros(r.Reached), columns.Micros(r.Added), columns.Micros(r.Started), columns.Micros(r.Finished),
		encodeProgress(r), lane, nextAt,
	}
}

// encodeMoves writes moves as the JSON that the bulk update reads, in the
// order of dialect.RespondentColumns.
func encodeMoves(moves []*move) string {
	b := make([]byte, 0, 300*len(moves))
	b = append(b, '[')
	for i, m := range moves {
		if i > 0 {
			b = append(b, ',')
		}
		r := &m.is
		b = append(b, '[')
		b = appendNumbers(b, int64(r.ID), r.Survey, r.Rev-1, r.Rev)
		if maps.Equal(m.Was.Attributes, r.Attributes) {
			b = append(b, "null"...)
		} else {
			b = plainjson.AppendText(b, encodeAttributes(r.Attributes))
		}
		b = append(b, ',')
		b = appendNumbers(b, int64(r.Bucket), statusNumber(r.Status))
		b = append(plainjson.AppendText(b, string(r.Disposition)), ',')
		lane, nextAt := stand(r)
		b = appendNumbers(b, columns.Number(r.Counted), lane, nextAt, int64(r.Contact.Channel), int64(r.Contact.ID),
			columns.Micros(r.Reached), columns.Micros(r.Started), columns.Micros(r.Finished))
		b = append(plainjson.AppendText(b, encodeProgress(r)), ']')
	}
	return string(append(b, ']'))
}

// appendNumbers appends numbers, each with a comma behind it.
func appendNumbers(b []byte, list ...int64) []byte {
	for _, n := range list {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	return b
}
