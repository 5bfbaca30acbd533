package persistence

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"weir"
	"weir/events"
	"weir/persistence/dialect"
)

// OpenThrough opens a store on a database that a test has put its hand on.
func OpenThrough(ctx context.Context, url string, o Options, wrap func(dialect.Database) dialect.Database) (*Store, error) {
	scheme, address, _ := strings.Cut(url, "://")
	db, err := openers()[scheme](ctx, address, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return newStore(wrap(db), scheme, withDefaults(o)), nil
}

// DecideImport decides to commit an import and makes n of its respondents
// visible, as if the process ended then.
func (s *Store) DecideImport(ctx context.Context, survey, imp int64, n int) error {
	_, err := s.decideImport(ctx, survey, imp, importCommitting, importCommitted)
	if err == nil {
		_, err = s.stepImport(ctx, imp, n)
	}
	return err
}

// DecodeBlock gives the events of a row of the log.
func DecodeBlock(last int64, payload []byte) ([]events.Event, error) {
	return decodeBlock(last, payload)
}

// EncodeBlock is the other way round.
func EncodeBlock(list []events.Event) ([]byte, error) { return encodeBlock(list, time.Time{}) }

// Waiting says how many requests the writer has been handed and not taken.
func (s *Store) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// Given says how many statements the database was given.
func (s *Store) Given() int64 { return s.database.Pools().Statements.Count() }

// EncodeContent is how the content of a contact is kept.
func EncodeContent(spec *weir.Spec) (string, error) { return encodeContent(spec) }

// DecodeContent gives its messages.
func DecodeContent(text string) ([]string, error) {
	body, err := decodeContent(text)
	return body.Messages, err
}

// Record is a record of contacts_in_flight.
type Record struct {
	Ref      weir.Ref
	Progress weir.Progress
}

// EncodeRecords returns a row of contacts_in_flight.
func EncodeRecords(list []Record) []byte {
	data := []byte{recordVersion}
	for _, r := range list {
		data = appendRecord(data, &record{r.Ref, r.Progress})
	}
	return data
}

// DecodeRecords reads one.
func DecodeRecords(data []byte) ([]Record, error) {
	found, err := decodeRecords(data)
	var list []Record
	for _, r := range found {
		list = append(list, Record{r.ref, r.progress})
	}
	return list, err
}

// EncodeWaiting and DecodeWaiting are the progress of a contact that waits.
func EncodeWaiting(p weir.Progress) []byte { return encodeWaiting(&p) }

// DecodeWaiting reads one.
func DecodeWaiting(data []byte) (weir.Progress, error) { return decodeWaiting(data) }

// Kept returns a progress as the store returns it.
func Kept(p weir.Progress) weir.Progress { return kept(p) }

// LogRows returns how many rows of the log are known, and how many of them are to be
// deleted.
func (s *Store) LogRows() (rows, unused int) {
	s.writer.flights.mu.RLock()
	defer s.writer.flights.mu.RUnlock()
	return len(s.writer.flights.rows), len(s.writer.flights.unused)
}

// ForgetElsewhere is a part of Purge.
func (s *Store) ForgetElsewhere(ctx context.Context) error { return s.forgetElsewhere(ctx) }

// Known returns how many contacts in flight of a channel memory has.
func (s *Store) Known(channel weir.ChannelID) int { return len(s.writer.flights.list(channel)) }

// TakeOver takes over contacts as they were read from another log.
func (s *Store) TakeOver(ctx context.Context, list ...weir.Contact) error {
	w := &takeOver{}
	for i := range list {
		w.records = append(w.records, record{list[i].Ref, list[i].Progress})
	}
	return s.takeOver(ctx, w)
}
