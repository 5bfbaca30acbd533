package events

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/events"
	"weir/internal/plainjson"
	"weir/persistence/columns"
)

// A row of events of contacts is not JSON: there are three of them for each contact, and
// binary records are a third as long and cost a fifth. It begins with contactBlock, the
// number of its events and the instant that all others are relative to.
const contactBlock = 1

// ContactEvent is an event of a contact to be written. Data has no id of the
// contact yet.
type ContactEvent struct {
	Type string
	At   time.Time
	Ref  weir.Ref
	Data events.ContactData
}

// contactEvents collects the events of contacts of a batch.
type contactEvents struct {
	base    int64 // of the instants, in microseconds
	records []byte
	ends    []int // of each record
}

func (c *contactEvents) reset() { *c = contactEvents{records: c.records[:0], ends: c.ends[:0]} }

func (c *contactEvents) add(e *ContactEvent) {
	if len(c.ends) == 0 {
		c.base = columns.Micros(e.At)
	}
	b, d := c.records, &e.Data
	b = append(b, byte(slices.Index(contactTypes(), e.Type)))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Ref.Channel)), uint64(e.Ref.ID))
	b = c.appendInstant(b, e.At)
	for _, text := range [...]string{d.Key, d.Channel, d.To, d.Survey} {
		b = columns.AppendString(b, text)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Labels)))
	if len(d.Labels) > 0 {
		for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
			b = columns.AppendString(columns.AppendString(b, name), d.Labels[name])
		}
	}
	b = binary.AppendUvarint(b, uint64(d.Attempts))
	b = columns.AppendString(columns.AppendString(columns.AppendString(b, d.ProviderRef), d.Outcome), d.Reason)
	for _, at := range [...]time.Time{d.QueuedAt, d.ClaimedAt, d.SentAt, d.DueAt, d.FinishedAt} {
		b = c.appendInstant(b, at)
	}
	c.records, c.ends = b, append(c.ends, len(b))
}

// appendInstant adds an instant as its distance from the base; 0 is none.
func (c *contactEvents) appendInstant(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return append(b, 0)
	}
	d := columns.Micros(at) - c.base
	if d >= 0 {
		d++
	}
	return binary.AppendVarint(b, d)
}

// rows returns the rows of what was collected.
func (c *contactEvents) rows() (list []row) {
	begin := 0
	for ends := c.ends; len(ends) > 0; {
		n := 1
		for n < min(len(ends), columns.EventsPerRow) && ends[n]-begin <= blockBytes {
			n++
		}
		b := append(make([]byte, 0, ends[n-1]-begin+16), contactBlock)
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(n)), c.base)
		list = append(list, row{n, append(b, c.records[begin:ends[n-1]]...)})
		begin, ends = ends[n-1], ends[n:]
	}
	return list
}

// isContacts reports whether a row has events of contacts.
func isContacts(payload []byte) bool { return len(payload) > 0 && payload[0] == contactBlock }

// contactTypes lists the types by their number in records. Numbers are never given again.
func contactTypes() []string {
	return []string{events.ContactDispatched, events.ContactAccepted, events.ContactRequeued, events.ContactDone, events.ContactCorrected}
}

// decodeContacts is decodeRow for events of contacts.
func decodeContacts(last int64, payload []byte, wants func(id int64, kind string) bool) ([]events.Event, error) {
	broken := func() error {
		return fmt.Errorf("the events up to %d cannot be read: a record is truncated or of an unknown version", last)
	}
	r := columns.Reader{Rest: payload[1:]}
	n, base := r.Count(), r.Number()
	if r.Broken || n > int64(len(r.Rest)) {
		return nil, broken()
	}
	types := contactTypes()
	list := []events.Event{}
	for id := last - n + 1; id <= last; id++ {
		var e ContactEvent
		kind := int(r.Byte())
		readContact(&r, base, &e)
		if r.Broken || kind >= len(types) {
			return nil, broken()
		}
		if !wants(id, types[kind]) {
			continue
		}
		e.Data.Contact = e.Ref.String()
		list = append(list, events.Event{
			ID: id, Type: types[kind], Source: events.SourceContacts, Subject: "contact/" + e.Data.Contact, At: e.At, Data: appendData(make([]byte, 0, 384), &e.Data),
		})
	}
	if len(r.Rest) > 0 {
		return nil, broken()
	}
	return list, nil
}

// readContact reads a record behind its type.
func readContact(r *columns.Reader, base int64, e *ContactEvent) {
	instant := func() time.Time {
		d := r.Number()
		if d > 0 {
			d--
		} else if d == 0 {
			return time.Time{}
		}
		return columns.Instant(base + d)
	}
	d := &e.Data
	e.Ref = weir.Ref{Channel: weir.ChannelID(r.Count()), ID: weir.ContactID(r.Count())}
	e.At = instant()
	d.Key, d.Channel, d.To, d.Survey = r.Text(), r.Text(), r.Text(), r.Text()
	for n := r.Count(); n > 0 && !r.Broken; n-- {
		if d.Labels == nil {
			d.Labels = map[string]string{}
		}
		name := r.Text()
		d.Labels[name] = r.Text()
	}
	d.Attempts = int(r.Count())
	d.ProviderRef, d.Outcome, d.Reason = r.Text(), weir.Outcome(r.Text()), r.Text()
	for _, at := range [...]*time.Time{&d.QueuedAt, &d.ClaimedAt, &d.SentAt, &d.DueAt, &d.FinishedAt} {
		*at = instant()
	}
}

// countContacts returns the number of events of a row.
func countContacts(payload []byte) int64 {
	r := columns.Reader{Rest: payload[1:]}
	return r.Count()
}

// appendData adds the JSON of the data, as the encoder would write it: a receiver may get
// three for each contact.
func appendData(b []byte, d *events.ContactData) []byte {
	b = plainjson.AppendText(append(b, `{"contact":`...), d.Contact)
	b = appendMember(b, `,"key":`, d.Key)
	b = plainjson.AppendText(append(b, `,"channel":`...), d.Channel)
	b = plainjson.AppendText(append(b, `,"to":`...), d.To)
	b = appendMember(b, `,"survey":`, d.Survey)
	if len(d.Labels) > 0 {
		labels, _ := json.Marshal(d.Labels) //nolint:errchkjson // texts
		b = append(append(b, `,"labels":`...), labels...)
	}
	b = strconv.AppendInt(append(b, `,"attempts":`...), int64(d.Attempts), 10)
	b = appendMember(b, `,"provider_ref":`, d.ProviderRef)
	b = appendMember(b, `,"outcome":`, string(d.Outcome))
	b = appendMember(b, `,"reason":`, d.Reason)
	b = appendInstant(b, `,"queued_at":"`, d.QueuedAt)
	for _, m := range [...]struct {
		name string
		at   time.Time
	}{{`,"claimed_at":"`, d.ClaimedAt}, {`,"sent_at":"`, d.SentAt}, {`,"due_at":"`, d.DueAt}, {`,"finished_at":"`, d.FinishedAt}} {
		if !m.at.IsZero() {
			b = appendInstant(b, m.name, m.at)
		}
	}
	return append(b, '}')
}

// appendMember adds a member of an object, unless it is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return plainjson.AppendText(append(b, name...), text)
}

func appendInstant(b []byte, name string, at time.Time) []byte {
	return append(at.AppendFormat(append(b, name...), time.RFC3339Nano), '"')
}
