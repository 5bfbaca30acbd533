package contacts

import (
	"slices"
	"sync"

	"weir"
	"weir/persistence/commit"
)

// flights holds the contacts in flight: their latest committed progress, and the row of
// contacts_in_flight that holds it. It is complete once the log was read, so that a
// transition needs no look at the database.
//
// Only the writer's goroutine changes it, and reads it without the lock; others
// read it under the lock.
type flights struct {
	mu       sync.RWMutex
	channels map[weir.ChannelID]map[weir.ContactID]flight
	n        int // contacts

	rows    map[int64]*logRow // of contacts_in_flight, by id
	order   []int64           // their ids, oldest first; some may be gone
	records int               // in all rows
	unused  []int64           // rows without a record that counts, to be deleted by the next batch
	held    []int64           // the same, but for ends that the index by channel does not have yet
}

// flight is a contact in flight.
type flight struct {
	row      int64
	progress weir.Progress
}

// logRow is a row of contacts_in_flight.
type logRow struct {
	refs []weir.Ref // of its records
	live int        // records that are the latest of their contacts
	// ended reports whether it has contacts that are done and that the index by channel does
	// not have yet.
	ended bool
}

func newFlights() *flights {
	return &flights{channels: map[weir.ChannelID]map[weir.ContactID]flight{}, rows: map[int64]*logRow{}}
}

// flightChanges lists the changes of a batch to flights, for when it is committed.
type flightChanges struct {
	row     int64 // the new row
	records []record
	left    []weir.Ref // contacts that are no longer in flight
	deleted []int64    // rows
	indexed bool       // the index by channel has the ends of all earlier rows
	ended   bool       // there are some in the new row
}

// loggedRow is a row of the log as it was read.
type loggedRow struct {
	id      int64
	records []record
}

// recovered takes over the log that earlier owners have left, oldest row first: the latest
// record of each contact that is still in flight counts. ended are contacts that the index by
// channel does not have yet.
func (f *flights) recovered(log []loggedRow, still, ended map[weir.Ref]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range log {
		kept := &logRow{refs: make([]weir.Ref, len(row.records))}
		f.rows[row.id] = kept
		f.order = append(f.order, row.id)
		f.records += len(row.records)
		for i, r := range row.records {
			kept.refs[i] = r.ref
			kept.ended = kept.ended || ended[r.ref]
			if before, ok := f.get(r.ref); !still[r.ref] || ok && before.progress.Rev > r.progress.Rev {
				continue
			}
			f.remove(r.ref)
			f.add(r.ref, flight{row.id, r.progress})
			kept.live++
		}
		if kept.live == 0 {
			f.drop(row.id)
		}
	}
}

// committed applies what a batch has written.
func (f *flights) committed(l *flightChanges) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unused = slices.DeleteFunc(f.unused, func(id int64) bool { return slices.Contains(l.deleted, id) })
	if l.indexed {
		f.unused, f.held = append(f.unused, f.held...), nil
		for _, row := range f.rows {
			row.ended = false
		}
	}
	for _, ref := range l.left {
		f.remove(ref)
	}
	row := &logRow{refs: make([]weir.Ref, len(l.records)), live: len(l.records), ended: l.ended} // a contact has one record in a row
	for i := range l.records {
		r := &l.records[i]
		f.remove(r.ref)
		f.add(r.ref, flight{l.row, r.progress})
		row.refs[i] = r.ref
	}
	f.rows[l.row] = row
	f.order = append(f.order, l.row)
	f.records += len(l.records)
	if row.live == 0 { // it has shown what it had to
		f.drop(l.row)
	}
}

func (f *flights) add(ref weir.Ref, fl flight) {
	if f.channels[ref.Channel] == nil {
		f.channels[ref.Channel] = map[weir.ContactID]flight{}
	}
	f.channels[ref.Channel][ref.ID] = fl
	f.n++
}

// remove removes a contact, if it is known. Its record counts no longer.
func (f *flights) remove(ref weir.Ref) {
	fl, ok := f.get(ref)
	if !ok {
		return
	}
	f.n--
	if delete(f.channels[ref.Channel], ref.ID); len(f.channels[ref.Channel]) == 0 {
		delete(f.channels, ref.Channel)
	}
	row := f.rows[fl.row]
	if row.live--; row.live > 0 {
		return
	}
	f.drop(fl.row)
}

// drop drops a row none of whose records counts.
func (f *flights) drop(id int64) {
	row := f.rows[id]
	f.records -= len(row.refs)
	delete(f.rows, id)
	if row.ended {
		f.held = append(f.held, id)
	} else {
		f.unused = append(f.unused, id)
	}
	if len(f.order) > 2*len(f.rows)+maxUnused {
		f.order = slices.DeleteFunc(f.order, func(id int64) bool { return f.rows[id] == nil })
	}
}

// Rows of the log that one batch deletes.
const (
	minUnused = 16
	maxUnused = 64
)

func (f *flights) get(ref weir.Ref) (flight, bool) {
	fl, ok := f.channels[ref.Channel][ref.ID]
	return fl, ok
}

// sparse reports whether most of the log is superseded. The bound keeps the log in
// proportion to the contacts in flight, however long some of them last.
func (f *flights) sparse() bool { return f.records > 4*f.n+4*commit.MaxRows }

// carried returns the records of the oldest row that still count. A batch that
// writes them into its own row replaces the old one.
func (f *flights) carried() []record {
	if !f.sparse() {
		return nil
	}
	oldest := slices.IndexFunc(f.order, func(id int64) bool { return f.rows[id] != nil })
	if oldest < 0 {
		return nil
	}
	id := f.order[oldest]
	var list []record
	for _, ref := range f.rows[id].refs {
		if fl, ok := f.get(ref); ok && fl.row == id {
			list = append(list, record{ref, fl.progress})
		}
	}
	return list
}

// progress returns the progress of a contact in flight.
func (f *flights) progress(ref weir.Ref) (weir.Progress, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	fl, ok := f.get(ref)
	return fl.progress, ok
}

// list returns the contacts in flight of a channel, in no order.
func (f *flights) list(channel weir.ChannelID) []record {
	f.mu.RLock()
	defer f.mu.RUnlock()
	list := make([]record, 0, len(f.channels[channel]))
	for id, fl := range f.channels[channel] {
		list = append(list, record{weir.Ref{Channel: channel, ID: id}, fl.progress})
	}
	return list
}

// has reports whether a channel has contacts in flight.
func (f *flights) has(channel weir.ChannelID) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.channels[channel]) > 0
}

// byChannel returns the number of contacts in flight of each channel.
func (f *flights) byChannel() map[weir.ChannelID]int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	counts := make(map[weir.ChannelID]int, len(f.channels))
	for channel, contacts := range f.channels {
		counts[channel] = len(contacts)
	}
	return counts
}
