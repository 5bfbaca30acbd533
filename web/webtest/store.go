package webtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"weir"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/storetest"
	"weir/surveys"
	"weir/web"
)

var ErrDown = &weir.Error{Code: weir.CodeUnavailable, Message: "the store is not reachable", Cause: errors.New("dial tcp CANARY-cause")}

// Store is a store in memory that breaks as a test wants.
type Store struct {
	*persistence.Store
	db dialect.Database

	mu      sync.Mutex
	Down    error                                  // of what requests begin with
	Adding  func(ctx context.Context, n int) error // called before respondents are added
	Lookups int                                    // of callback channels
	Added   int                                    // respondents, of unfinished imports too
	Aborted int                                    // imports
	secrets []string                               // of channels
	moving  sync.Mutex                             // held by move: one incarnation of a channel ends the one before
}

func newStore(t testing.TB, url string) *Store {
	t.Helper()
	s, db := storetest.OpenWithDatabase(t, url, persistence.Options{})
	if err := s.OpenPeople(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return &Store{Store: s, db: db}
}

// Writes returns how many rows were written so far.
func (s *Store) Writes() int64 { return storetest.RowsWritten(s.db) }

func whileUp[T any](s *Store, read func() (T, error)) (T, error) {
	if s.Down != nil {
		var none T
		return none, s.Down
	}
	return read()
}

func (s *Store) PutChannel(ctx context.Context, c weir.Channel) (weir.Channel, bool, error) {
	c, created, err := s.Store.PutChannel(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if created {
		s.secrets = append(s.secrets, c.Secret)
	}
	return c, created, err
}

// canaries are the secrets of channels.
func (s *Store) canaries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secrets)
}

func (s *Store) Channel(ctx context.Context, name string) (weir.Channel, error) {
	return whileUp(s, func() (weir.Channel, error) { return s.Store.Channel(ctx, name) })
}

func (s *Store) Channels(ctx context.Context, after string, limit int) ([]weir.Channel, error) {
	return whileUp(s, func() ([]weir.Channel, error) { return s.Store.Channels(ctx, after, limit) })
}

func (s *Store) ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error) {
	return whileUp(s, func() (weir.Channel, error) { return s.Store.ChannelByID(ctx, id) })
}

func (s *Store) CallbackChannels(ctx context.Context, name string) ([]weir.Channel, error) {
	s.mu.Lock()
	s.Lookups++
	s.mu.Unlock()
	return whileUp(s, func() ([]weir.Channel, error) { return s.Store.CallbackChannels(ctx, name) })
}

func (s *Store) Contacts(ctx context.Context, f weir.ContactFilter) (list []weir.Contact, next string, err error) {
	if s.Down != nil {
		return nil, "", s.Down
	}
	return s.Store.Contacts(ctx, f)
}

func (s *Store) Contact(ctx context.Context, ref weir.Ref) (c weir.Contact, ended []weir.Attempt, err error) {
	if s.Down != nil {
		return c, nil, s.Down
	}
	return s.Store.Contact(ctx, ref)
}

func (s *Store) Receive(ctx context.Context, id weir.ChannelID, in weir.Incoming) (duplicate bool, err error) {
	return whileUp(s, func() (bool, error) { return s.Store.Receive(ctx, id, in) })
}

func (s *Store) Ready(ctx context.Context) error {
	if s.Down != nil {
		return s.Down
	}
	return s.Store.Ready(ctx)
}

func (s *Store) Survey(ctx context.Context, name string) (surveys.Survey, error) {
	return whileUp(s, func() (surveys.Survey, error) { return s.Store.Survey(ctx, name) })
}

func (s *Store) Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error) {
	return whileUp(s, func() ([]surveys.Survey, error) { return s.Store.Surveys(ctx, states, after, limit) })
}

func (s *Store) Add(ctx context.Context, survey, imp int64, list []surveys.Respondent) ([]surveys.Added, error) {
	if s.Adding != nil {
		if err := s.Adding(ctx, len(list)); err != nil {
			return nil, err
		}
	}
	added, err := s.Store.Add(ctx, survey, imp, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range added {
		if !a.Duplicate {
			s.Added++
		}
	}
	return added, err
}

// Stored returns Added, beside requests.
func (s *Store) Stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Added
}

func (s *Store) AbortImport(ctx context.Context, survey, imp int64) error {
	s.mu.Lock()
	s.Aborted++
	s.mu.Unlock()
	return s.Store.AbortImport(ctx, survey, imp)
}

// move gives a contact another progress.
func (s *Store) move(ctx context.Context, c weir.Contact, p weir.Progress, ended ...weir.Attempt) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	by, err := s.Incarnate(ctx, c.Channel)
	if err != nil {
		return err
	}
	t := weir.Transition{Contact: c, From: c.Rev, Was: c.State}
	t.Contact.Progress, t.Contact.Rev = p, c.Rev+1
	for i := range ended {
		t.Ended = &ended[i]
	}
	return (<-storetest.Commit(s.Store, by, t)).Err
}

// Hanging is a store that does not respond.
type Hanging struct{ web.Store }

func (*Hanging) Contacts(ctx context.Context, _ weir.ContactFilter) ([]weir.Contact, string, error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

func (*Hanging) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
