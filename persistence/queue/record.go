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
		b = values.AppendString(b, s)
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
	r := values.Reader{Rest: data[1:]}
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
	r := values.Reader{Rest: data[1:]}
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

func readProgress(r *values.Reader) (p weir.Progress) {
	p.Rev = r.Count()
	p.State = weir.State(r.Byte())
	p.CancelRequested = r.Byte() == 1
	p.Attempt, p.Failures = int(r.Count()), int(r.Count())
	for _, t := range [...]*time.Time{&p.DueAt, &p.ClaimedAt, &p.SentAt, &p.HeardAt, &p.FinishedAt} {
		*t = r.Instant()
	}
	p.ProviderRef, p.Parts = r.Text(), r.Text()
	p.Outcome, p.Reason = weir.Outcome(r.Text()), r.Text()
	return p
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
