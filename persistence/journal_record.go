package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"weir"
)

// record says what has become of a contact. It holds all that a transition can
// change, and the revision of the contact's row at that moment, so that the
// latest record of a contact can be folded without those before it.
type record struct {
	ref      weir.Ref
	base     int64
	progress weir.Progress
}

// recordsVersion begins a row of the journal.
const recordsVersion = 1

var errRecords = errors.New("the row of the journal is broken off or of another version")

// appendRecord adds a record to a row that begins with recordsVersion.
func appendRecord(b []byte, r *record) []byte {
	p := &r.progress
	for _, n := range [...]int64{int64(r.ref.Channel), int64(r.ref.ID), r.base, p.Rev} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = append(b, byte(p.State), byte(number(p.CancelRequested)))
	for _, n := range [...]int64{int64(p.Attempt), int64(p.Failures)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, t := range [...]time.Time{p.DueAt, p.ClaimedAt, p.SentAt, p.HeardAt, p.FinishedAt} {
		b = binary.AppendVarint(b, micros(t))
	}
	for _, s := range [...]string{p.ProviderRef, p.Parts, string(p.Outcome), p.Reason} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// decodeRecords reads a row of the journal.
func decodeRecords(data []byte) ([]record, error) {
	if len(data) == 0 || data[0] != recordsVersion {
		return nil, errRecords
	}
	r := recordReader{rest: data[1:]}
	var list []record
	for len(r.rest) > 0 {
		list = append(list, r.record())
		if r.broken {
			return nil, fmt.Errorf("record %d: %w", len(list), errRecords)
		}
	}
	return list, nil
}

// recordReader takes values from the front. Once broken it gives zeros.
type recordReader struct {
	rest   []byte
	broken bool
}

func (r *recordReader) record() record {
	var x record
	x.ref = weir.Ref{Channel: weir.ChannelID(r.count()), ID: weir.ContactID(r.count())}
	x.base = r.count()
	p := &x.progress
	p.Rev = r.count()
	p.State = weir.State(r.byte())
	p.CancelRequested = r.byte() == 1
	p.Attempt, p.Failures = int(r.count()), int(r.count())
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt} {
		*t = r.instant()
	}
	p.ProviderRef, p.Parts = r.text(), r.text()
	p.Outcome, p.Reason = weir.Outcome(r.text()), r.text()
	return x
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
	return instant(n)
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

// kept is a progress as the store gives it back: instants to the microsecond,
// texts that fit.
func kept(p weir.Progress) weir.Progress {
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt} {
		*t = instant(micros(*t))
	}
	p.ProviderRef, p.Reason = clip(p.ProviderRef), clip(p.Reason)
	return p
}
