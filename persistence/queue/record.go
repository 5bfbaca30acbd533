package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"weir"
	"weir/persistence/values"
)

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
	b = append(binary.AppendUvarint(b, uint64(p.Rev)), byte(p.State), byte(values.Number(p.CancelRequested)))
	for _, n := range [...]int64{int64(p.Attempt), int64(p.Failures)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, t := range [...]time.Time{p.DueAt, p.ClaimedAt, p.SentAt, p.HeardAt, p.FinishedAt} {
		b = binary.AppendVarint(b, values.Micros(t))
	}
	for _, s := range [...]string{p.ProviderRef, p.Parts, string(p.Outcome), p.Reason} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// encodeWaiting returns the progress of a waiting contact; nil if it is that of a
// contact that was just accepted.
func encodeWaiting(p *weir.Progress) []byte {
	if p.Rev == 0 {
		return nil
	}
	k := kept(*p)
	return appendProgress([]byte{recordVersion}, &k)
}

// decodeWaiting reads the result of encodeWaiting, if it is not nil.
func decodeWaiting(data []byte) (weir.Progress, error) {
	if len(data) == 0 || data[0] != recordVersion {
		return weir.Progress{}, errRecord
	}
	r := recordReader{rest: data[1:]}
	p := r.progress()
	if r.broken || len(r.rest) > 0 {
		return weir.Progress{}, errRecord
	}
	return p, nil
}

// decodeRecords reads a row of records.
func decodeRecords(data []byte) ([]record, error) {
	if len(data) == 0 || data[0] != recordVersion {
		return nil, errRecord
	}
	r := recordReader{rest: data[1:]}
	var list []record
	for len(r.rest) > 0 {
		ref := weir.Ref{Channel: weir.ChannelID(r.count()), ID: weir.ContactID(r.count())}
		list = append(list, record{ref, r.progress()})
		if r.broken {
			return nil, fmt.Errorf("record %d: %w", len(list), errRecord)
		}
	}
	return list, nil
}

// recordReader reads values from the front. Once broken it returns zeros.
type recordReader struct {
	rest   []byte
	broken bool
}

func (r *recordReader) progress() (p weir.Progress) {
	p.Rev = r.count()
	p.State = weir.State(r.byte())
	p.CancelRequested = r.byte() == 1
	p.Attempt, p.Failures = int(r.count()), int(r.count())
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt} {
		*t = r.instant()
	}
	p.ProviderRef, p.Parts = r.text(), r.text()
	p.Outcome, p.Reason = weir.Outcome(r.text()), r.text()
	return p
}

func (r *recordReader) fail() {
	r.rest, r.broken = nil, true
}

func (r *recordReader) count() int64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || int64(n) < 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

func (r *recordReader) instant() time.Time {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return time.Time{}
	}
	r.rest = r.rest[size:]
	return values.Instant(n)
}

func (r *recordReader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *recordReader) text() string {
	n := r.count()
	if n > int64(len(r.rest)) {
		r.fail()
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// kept returns a progress as the store will return it: instants in microseconds,
// texts cut to their columns.
func kept(p weir.Progress) weir.Progress {
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt} {
		*t = values.Instant(values.Micros(*t))
	}
	p.ProviderRef, p.Reason = values.Clip(p.ProviderRef), values.Clip(p.Reason)
	return p
}
