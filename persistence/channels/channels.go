package channels

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/events"
	"weir/internal/plainjson"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

const channelColumns = "id, name, former_name, type, title, capacity, paused, settings, secret, version, deleting, deleted, created_at, updated_at"

// channelRow is a row of channels. A deleted one has its name in FormerName,
// so that the name is free.
type channelRow struct {
	ID         int64   `db:"id"`
	Name       *string `db:"name"`
	FormerName string  `db:"former_name"`
	Type       string  `db:"type"`
	Title      string  `db:"title"`
	Capacity   *int    `db:"capacity"` // nil: the default
	Paused     bool    `db:"paused"`
	Settings   string  `db:"settings"`
	Secret     string  `db:"secret"`
	Version    int64   `db:"version"`
	Deleting   bool    `db:"deleting"`
	Deleted    bool    `db:"deleted"`
	CreatedAt  int64   `db:"created_at"`
	UpdatedAt  int64   `db:"updated_at"`
}

func (r *channelRow) channel(defaultCapacity int) (weir.Channel, error) {
	c := weir.Channel{
		ID: weir.ChannelID(r.ID), Name: r.FormerName, Type: r.Type, Title: r.Title, Capacity: defaultCapacity, DefaultCapacity: r.Capacity == nil, Paused: r.Paused,
		Secret: r.Secret, Version: r.Version, Deleting: r.Deleting, Deleted: r.Deleted,
		Created: columns.Instant(r.CreatedAt), Updated: columns.Instant(r.UpdatedAt),
	}
	if r.Name != nil {
		c.Name = *r.Name
	}
	if r.Capacity != nil {
		c.Capacity = *r.Capacity
	}
	return c, decodeSettings(&c, r.Settings)
}

// capacityColumn returns the capacity that a channel sets; nil: none.
func capacityColumn(c weir.Channel) *int {
	if c.DefaultCapacity {
		return nil
	}
	return &c.Capacity
}

func noChannel() error { return weir.Errorf(weir.CodeNotFound, "no such channel") }

// LockChannel reads a channel that is not deleted and holds its row.
func (s *Store) LockChannel(ctx context.Context, tx dialect.Reader, id weir.ChannelID) (channelRow, error) {
	var row channelRow
	err := tx.GetContext(ctx, &row, "SELECT "+channelColumns+" FROM channels WHERE id = ?"+s.Dialect.ForUpdate, int64(id))
	if errors.Is(err, sql.ErrNoRows) || err == nil && row.Deleted {
		return row, noChannel()
	}
	return row, err
}

// change is a change of a channel, which the writer commits alone. It reads before it writes;
// a [weir.Error] refuses the request.
type change func(t *commit.Tx) error

// Write implements [commit.Work].
func (do change) Write(t *commit.Tx, r *commit.Request) error {
	err := do(t)
	if refusal, ok := errors.AsType[*weir.Error](err); ok {
		r.Refuse(refusal)
		return nil
	}
	return err
}

func (s *Store) change(ctx context.Context, do change) error {
	return s.Await(ctx, &commit.Request{Work: do, Rows: 1, Alone: true})
}

// PutChannel implements [weir.ChannelStore].
func (s *Store) PutChannel(ctx context.Context, c weir.Channel) (weir.Channel, bool, error) {
	settings, err := encodeSettings(&c)
	if err != nil {
		return weir.Channel{}, false, s.Failure("encode the settings", err)
	}
	var row channelRow
	var created bool
	err = s.change(ctx, func(t *commit.Tx) error {
		err := t.GetContext(t.Ctx, &row, "SELECT "+channelColumns+" FROM channels WHERE name = ?"+s.Dialect.ForUpdate, c.Name)
		if created = errors.Is(err, sql.ErrNoRows); created {
			row, err = createChannel(t, c, settings)
		}
		return err
	})
	if err != nil {
		return weir.Channel{}, false, err
	}
	stored, err := row.channel(s.DefaultCapacity)
	return stored, created, s.Failure("store a channel", err)
}

// brakeKey is where the brake is among the stored settings. No setting of a channel type
// begins like this.
const brakeKey = "$brake"

// storedBrake is the value of [brakeKey].
type storedBrake struct {
	Rule   *weir.Brake  `json:"rule,omitempty"`
	Braked *weir.Braked `json:"braked,omitempty"`
}

// encodeSettings returns the settings as they are stored, with the brake. What a brake has
// done is kept as long as the channel is paused.
func encodeSettings(c *weir.Channel) (string, error) {
	settings := maps.Clone(c.Settings)
	if settings == nil {
		settings = weir.Settings{}
	}
	brake := storedBrake{Rule: c.Brake}
	if c.Paused {
		brake.Braked = c.Braked
	}
	if brake != (storedBrake{}) {
		settings[brakeKey] = brake
	}
	b, err := json.Marshal(settings)
	return string(b), err
}

// decodeSettings sets what encodeSettings has stored.
func decodeSettings(c *weir.Channel, stored string) error {
	if err := plainjson.Unmarshal([]byte(stored), &c.Settings); err != nil {
		return err
	}
	if _, ok := c.Settings[brakeKey]; !ok {
		return nil
	}
	delete(c.Settings, brakeKey)
	var s struct {
		Brake storedBrake `json:"$brake"`
	}
	err := json.Unmarshal([]byte(stored), &s)
	c.Brake, c.Braked = s.Brake.Rule, s.Brake.Braked
	return err
}

func createChannel(t *commit.Tx, c weir.Channel, settings string) (channelRow, error) {
	t.Add("UPDATE meta SET value = value + 1 WHERE name = 'channels'")
	var id int64
	if err := t.Get(&id, "SELECT value FROM meta WHERE name = 'channels'"); err != nil {
		return channelRow{}, err
	}
	now := columns.Micros(time.Now())
	row := channelRow{
		ID: id, Name: &c.Name, Type: c.Type, Title: c.Title, Capacity: capacityColumn(c), Paused: c.Paused, Settings: settings,
		Secret: rand.Text() + rand.Text(), Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	t.Add("INSERT INTO channels ("+channelColumns+") VALUES "+columns.Marks(14),
		row.ID, c.Name, "", row.Type, row.Title, row.Capacity, row.Paused, row.Settings, row.Secret, row.Version, false, false, now, now)
	return row, nil
}

// writeChannel replaces what a client may change.
func writeChannel(t *commit.Tx, row *channelRow, c weir.Channel, settings string) {
	row.Type, row.Title, row.Capacity, row.Paused, row.Settings, row.Deleting = c.Type, c.Title, capacityColumn(c), c.Paused, settings, c.Deleting
	row.Version++
	row.UpdatedAt = columns.Micros(time.Now())
	t.Add("UPDATE channels SET type = ?, title = ?, capacity = ?, paused = ?, settings = ?, deleting = ?, version = ?, updated_at = ? WHERE id = ?",
		row.Type, row.Title, row.Capacity, row.Paused, row.Settings, row.Deleting, row.Version, row.UpdatedAt, row.ID)
	t.Changes(weir.ChannelID(row.ID))
}

// UpdateChannel implements [weir.ChannelStore].
func (s *Store) UpdateChannel(ctx context.Context, c weir.Channel) (weir.Channel, error) {
	settings, err := encodeSettings(&c)
	if err != nil {
		return weir.Channel{}, s.Failure("encode the settings", err)
	}
	var row channelRow
	err = s.change(ctx, func(t *commit.Tx) error {
		var err error
		if row, err = s.LockChannel(t.Ctx, t, c.ID); err != nil {
			return err
		}
		if row.Version != c.Version {
			return weir.Errorf(weir.CodeConflict, "the channel was changed meanwhile")
		}
		writeChannel(t, &row, c, settings)
		return nil
	})
	if err != nil {
		return weir.Channel{}, err
	}
	stored, err := row.channel(s.DefaultCapacity)
	return stored, s.Failure("change a channel", err)
}

// BrakeChannel pauses a channel that has a brake, and records why, together with its event.
// acted is false if the channel is paused or being deleted.
func (s *Store) BrakeChannel(ctx context.Context, id weir.ChannelID, b weir.Braked) (acted bool, _ error) {
	err := s.change(ctx, func(t *commit.Tx) error {
		acted = false
		row, err := s.LockChannel(t.Ctx, t, id)
		if err != nil {
			return err
		}
		c, err := row.channel(s.DefaultCapacity)
		if err != nil {
			return err
		}
		if c.Brake == nil || c.Paused || c.Deleting {
			return nil
		}
		c.Paused, c.Braked = true, &b
		settings, err := encodeSettings(&c)
		if err != nil {
			return err
		}
		writeChannel(t, &row, c, settings)
		t.Emit(events.Braked("channel", c.Name, &b))
		acted = true
		return nil
	})
	return acted, err
}

// Channel implements [weir.ChannelStore].
func (s *Store) Channel(ctx context.Context, name string) (weir.Channel, error) {
	return s.oneChannel(ctx, "name = ?", name)
}

// ChannelByID implements [weir.ChannelStore]. Deleted channels are found.
func (s *Store) ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error) {
	return s.oneChannel(ctx, "id = ?", int64(id))
}

func (s *Store) oneChannel(ctx context.Context, where string, arg any) (weir.Channel, error) {
	list, err := s.channels(ctx, "WHERE "+where, arg)
	if err != nil {
		return weir.Channel{}, err
	}
	if len(list) == 0 {
		return weir.Channel{}, noChannel()
	}
	return list[0], nil
}

func (s *Store) channels(ctx context.Context, rest string, args ...any) ([]weir.Channel, error) {
	var rows []channelRow
	if err := s.Read.SelectContext(ctx, &rows, "SELECT "+channelColumns+" FROM channels "+rest, args...); err != nil {
		return nil, s.Failure("read channels", err)
	}
	list := make([]weir.Channel, 0, len(rows))
	for i := range rows {
		c, err := rows[i].channel(s.DefaultCapacity)
		if err != nil {
			return nil, s.Failure("read channels", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// Channels implements [weir.ChannelStore].
func (s *Store) Channels(ctx context.Context, after string, limit int) ([]weir.Channel, error) {
	return s.channels(ctx, "WHERE name > ? ORDER BY name LIMIT ?", after, limit)
}

// CallbackChannels implements [weir.ChannelStore]. The newest comes first.
func (s *Store) CallbackChannels(ctx context.Context, name string) ([]weir.Channel, error) {
	return s.channels(ctx, "WHERE name = ? OR former_name = ? ORDER BY id DESC LIMIT 100", name, name)
}

// DeleteChannel implements [weir.ChannelStore].
func (s *Store) DeleteChannel(ctx context.Context, id weir.ChannelID) error {
	return s.change(ctx, func(t *commit.Tx) error {
		row, err := s.LockChannel(t.Ctx, t, id)
		if err != nil {
			return err
		}
		if s.IsOpen(id) {
			return weir.Errorf(weir.CodeConflict, "the channel has open contacts")
		}
		t.Add("UPDATE channels SET name = NULL, former_name = ?, deleted = 1, deleting = 0, version = version + 1, updated_at = ? WHERE id = ?",
			*row.Name, columns.Micros(time.Now()), int64(id))
		t.Changes(id)
		return nil
	})
}

// Store keeps channels.
type Store struct {
	*commit.DB
	DefaultCapacity int // of channels that set none; set before the first call
	// IsOpen reports whether a channel has a contact that is not done. The writer's goroutine
	// gets what was committed last.
	IsOpen func(weir.ChannelID) bool
	// HasContacts reports whether a channel has a contact at all.
	HasContacts func(ctx context.Context, q dialect.Reader, channel weir.ChannelID) (bool, error)
}

func New(db *commit.DB) *Store { return &Store{DB: db} }

// OpenChannels implements [weir.ChannelStore].
func (s *Store) OpenChannels(ctx context.Context) ([]weir.ChannelID, error) {
	var rows []struct {
		ID       weir.ChannelID `db:"id"`
		Deleting bool           `db:"deleting"`
	}
	if err := s.Read.SelectContext(ctx, &rows, "SELECT id, deleting FROM channels ORDER BY id"); err != nil {
		return nil, s.Failure("look for open channels", err)
	}
	var list []weir.ChannelID
	for _, r := range rows {
		if r.Deleting || s.IsOpen(r.ID) {
			list = append(list, r.ID)
		}
	}
	return list, nil
}

// PurgeChannel removes a deleted channel that has nothing left.
func (s *Store) PurgeChannel(ctx context.Context, id weir.ChannelID) error {
	return s.Transaction(ctx, func(tx *sqlx.Tx) error {
		if has, err := s.HasContacts(ctx, tx, id); err != nil || has {
			return err
		}
		var left int
		err := tx.GetContext(ctx, &left, "SELECT COUNT(*) FROM (SELECT 1 FROM incoming WHERE channel_id = ? LIMIT 1) i", int64(id))
		if err != nil || left > 0 {
			return err
		}
		for _, q := range []string{
			"DELETE FROM channel_states WHERE channel_id = ?",
			"DELETE FROM channels WHERE id = ? AND deleted = 1",
		} {
			if _, err := tx.ExecContext(ctx, q, int64(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// All lists all channels, deleted ones too.
func (s *Store) All(ctx context.Context) ([]weir.Channel, error) {
	return s.channels(ctx, "ORDER BY id")
}
