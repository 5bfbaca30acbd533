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

// Record is what a row of the journal says of a contact.
type Record struct {
	Ref      weir.Ref
	Base     int64
	Progress weir.Progress
}

// EncodeRecords makes a row of the journal.
func EncodeRecords(list []Record) []byte {
	data := []byte{recordsVersion}
	for _, r := range list {
		data = appendRecord(data, &record{r.Ref, r.Base, r.Progress})
	}
	return data
}

// DecodeRecords reads one.
func DecodeRecords(data []byte) ([]Record, error) {
	found, err := decodeRecords(data)
	var list []Record
	for _, r := range found {
		list = append(list, Record{r.ref, r.base, r.progress})
	}
	return list, err
}

// Kept is a progress as the store gives it back.
func Kept(p weir.Progress) weir.Progress { return kept(p) }

// Unfolded says how many contacts' rows are behind.
func (s *Store) Unfolded() int {
	s.writer.journal.mu.RLock()
	defer s.writer.journal.mu.RUnlock()
	return len(s.writer.journal.entries)
}

// MarkOwned is the statement by which a batch holds on to n channels.
func (s *Store) MarkOwned(n int) string { return s.sql.MarkOwned(n) }
