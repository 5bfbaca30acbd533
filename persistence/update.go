package persistence

import (
	"encoding/json"
	"strconv"

	"weir/persistence/dialect"
)

// mostBound is how many contacts one statement changes or inserts whose values
// are bound.
const mostBound = 128

// placesFor is how many rows a statement for n has. Few sizes mean few texts to
// prepare. It has two at least: the values of a single one would be part of the
// plan, which SQLite makes again for some of them.
func placesFor(n int) int {
	size := 2
	for size < n {
		if size+size/2 >= n && size > 2 {
			return size + size/2
		}
		size *= 2
	}
	return size
}

// update writes the results of steps, and says how many rows it changed.
func (t *transaction) update(steps []step) (int64, error) {
	changed := int64(0)
	for len(steps) > 0 {
		n := min(len(steps), maxRows)
		if t.w.s.sql.UpdateRows != nil {
			n = min(n, mostBound)
		}
		text, args := t.w.s.updateOf(steps[:n], t.w.scratch[:0])
		did, err := t.exec(text, args...)
		t.w.keep(args)
		if err != nil {
			return 0, err
		}
		changed, steps = changed+did, steps[n:]
	}
	return changed, nil
}

// updateOf is the statement that writes steps; its arguments are appended to
// args. One with more places than steps is filled up with rows that are NULL
// and match nothing.
func (s *Store) updateOf(steps []step, args []any) (string, []any) {
	shape := shapeOf(steps)
	if s.sql.UpdateRows == nil {
		return s.text.update[shape], append(args, encode(steps, shape))
	}
	for i := range steps {
		args = steps[i].bind(shape, args)
	}
	size := placesFor(len(steps))
	args = fill(args, size, len(steps))
	return s.text.sized(sizedText{updates, shape, size}, func() string { return s.sql.UpdateRows(shape, size) }), args
}

// fill adds NULLs to the values of rows for as many as there are places.
func fill(args []any, places, rows int) []any {
	for range (places - rows) * (len(args) / rows) {
		args = append(args, nil)
	}
	return args
}

// shapeOf is Plain when none of the steps writes anything unusual.
func shapeOf(steps []step) dialect.Shape {
	for i := range steps {
		c := &steps[i].last.Contact
		if c.State.Waiting() || !c.DueAt.IsZero() || c.Failures != 0 || c.CancelRequested || c.Parts != "" || c.Reason != "" {
			return dialect.Whole
		}
	}
	return dialect.Plain
}

// bind appends what a step writes, in the order of dialect.Columns.
func (s *step) bind(shape dialect.Shape, args []any) []any {
	c := &s.last.Contact
	lane, pos := place(c)
	args = append(args, int64(c.Channel), int64(c.ID), s.base, c.Rev, int64(c.State), lane, pos, int64(c.Attempt),
		micros(c.ClaimedAt), micros(c.SentAt), micros(c.HeardAt), micros(c.FinishedAt), textOrNull(clip(c.ProviderRef)), textOrNull(string(c.Outcome)))
	if shape == dialect.Plain {
		return args
	}
	return append(args, number(c.State.Waiting()), micros(c.DueAt), int64(c.Failures), number(c.CancelRequested), textOrNull(c.Parts), textOrNull(clip(c.Reason)))
}

// textOrNull is NULL for an empty text, which costs less to bind.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// encode writes steps as the JSON that the bulk update reads, in the order of
// dialect.Columns.
func encode(steps []step, shape dialect.Shape) string {
	b := make([]byte, 0, 180*len(steps))
	b = append(b, '[')
	for i := range steps {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(steps[i].encode(shape, append(b, '[')), ']')
	}
	return string(append(b, ']'))
}

func (s *step) encode(shape dialect.Shape, b []byte) []byte {
	c := &s.last.Contact
	lane, pos := place(c)
	for _, n := range [...]int64{
		int64(c.Channel), int64(c.ID), s.base, c.Rev, int64(c.State), lane, pos, int64(c.Attempt),
		micros(c.ClaimedAt), micros(c.SentAt), micros(c.HeardAt), micros(c.FinishedAt),
	} {
		b = append(strconv.AppendInt(b, n, 10), ',')
	}
	b = appendText(append(appendText(b, clip(c.ProviderRef)), ','), string(c.Outcome))
	if shape == dialect.Plain {
		return b
	}
	for _, n := range [...]int64{number(c.State.Waiting()), micros(c.DueAt), int64(c.Failures), number(c.CancelRequested)} {
		b = strconv.AppendInt(append(b, ','), n, 10)
	}
	return appendText(append(appendText(append(b, ','), c.Parts), ','), clip(c.Reason))
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// appendText appends a JSON string. Most texts are plain and need no encoder.
func appendText(b []byte, text string) []byte {
	if !isPlain(text) {
		encoded, _ := json.Marshal(text) // a string always encodes
		return append(b, encoded...)
	}
	return append(append(append(b, '"'), text...), '"')
}

// isPlain tells whether a text is the same in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
