package persistence

import (
	"encoding/json"
	"fmt"
	"strings"

	"weir"
	"weir/persistence/dialect"
)

// insertion is one contact on its way into the table.
type insertion struct {
	contact weir.Contact
	into    *weir.Accepted // what became of it
	from    *request       // is refused if the key is in use for other content; nil: whoever has the key will do
	index   int            // of the contact in that request
}

// Rows of an INSERT into insertColumns. One of the plain shape says what most
// contacts have in common in the text.
func insertRow(shape dialect.Shape) string {
	if shape == dialect.Plain {
		return "(?, ?, NULL, ?, ?, '', '', ?, 0, 0, ?, ?, 0, " + fmt.Sprint(int(weir.Queued)) + ", ?, ?, NULL, 0, 0, 0, 0)"
	}
	return marks(1 + strings.Count(insertColumns, ","))
}

// insert inserts contacts in statements of bounded size and says how many went in.
func (t *transaction) insert(list []insertion) (int64, error) {
	shape := dialect.Plain
	for i := range list {
		if c := &list[i].contact; c.Key != "" || c.Survey != "" || len(c.Labels) > 0 || c.State != weir.Queued ||
			!c.NotBefore.IsZero() || !c.NotAfter.IsZero() || c.For != (weir.Respondent{}) {
			shape = dialect.Whole
		}
	}
	var inserted int64
	for len(list) > 0 {
		args := t.w.scratch[:0]
		n, bytes := 0, 0
		for ; n < len(list) && n < t.w.mostRows() && (n == 0 || bytes < maxBytes); n++ {
			var err error
			if args, bytes, err = list[n].bind(shape, args, bytes); err != nil {
				return 0, err
			}
		}
		text, args := t.w.s.insertOf(shape, n, t.b.hopeful, args)
		did, err := t.insertRowsOf(shape, n, text, args)
		t.w.keep(args)
		if err != nil {
			return 0, err
		}
		inserted, list = inserted+did, list[n:]
	}
	return inserted, nil
}

// insertRowsOf runs an INSERT of n contacts and says how many went in: all of them
// where no key can be taken, or one that is refuses the batch.
func (t *transaction) insertRowsOf(shape dialect.Shape, n int, text string, args []any) (int64, error) {
	if shape == dialect.Plain || t.b.hopeful {
		return int64(n), t.later(text, args...)
	}
	return t.exec(text, args...)
}

// mostRows is how many contacts one statement inserts.
func (w *writer) mostRows() int {
	if w.s.sql.InsertRows != nil {
		return mostBound
	}
	return maxRows
}

// keep has the room of arguments used again, and what was in it forgotten.
func (w *writer) keep(args []any) {
	clear(args)
	w.scratch = args[:0]
}

// insertOf is the statement that inserts n contacts. One with more places is
// filled up with rows that are NULL and are left out. One whose key is taken is
// left out, too, or refused.
func (s *Store) insertOf(shape dialect.Shape, n int, refuse bool, args []any) (string, []any) {
	row := insertRow(shape)
	if s.sql.InsertRows == nil {
		text := s.text.insertContacts + row + strings.Repeat(", "+row, n-1)
		if !refuse {
			text += s.text.keepContact
		}
		return text, args
	}
	size := placesFor(n)
	text := s.text.sized(sizedText{inserts, shape, size}, func() string {
		return s.sql.InsertRows("contacts ("+insertColumns+")", row, size) + s.text.keepContact
	})
	return text, fill(args, size, n)
}

// bind appends the values of a row, and adds their bytes up.
func (in *insertion) bind(shape dialect.Shape, args []any, bytes int) ([]any, int, error) {
	c := &in.contact
	content, err := encodeContent(&c.Spec)
	if err != nil {
		return nil, 0, err
	}
	bytes += 200 + len(content) + len(c.To)
	lane, pos := place(c)
	if shape == dialect.Plain {
		return append(args, int64(c.Channel), int64(c.ID), c.To, int64(c.Priority), content, int64(c.Size()), micros(c.QueuedAt), lane, pos), bytes, nil
	}
	labels := ""
	if len(c.Labels) > 0 {
		text, err := json.Marshal(c.Labels)
		if err != nil {
			return nil, 0, fmt.Errorf("encode the labels: %w", err)
		}
		labels = string(text)
	}
	var expire any
	if !c.NotAfter.IsZero() {
		expire = micros(c.NotAfter)
	}
	return append(args,
		int64(c.Channel), int64(c.ID), textOrNull(c.Key), c.To, int64(c.Priority), c.Survey, labels, content,
		micros(c.NotBefore), micros(c.NotAfter), int64(c.Size()), micros(c.QueuedAt),
		c.Rev, int64(c.State), lane, pos, expire, micros(c.DueAt), c.For.Survey, c.For.ID, int64(c.For.Serial),
	), bytes + len(labels) + len(c.Key) + len(c.Survey), nil
}

// encodeContent is the part of a contact that the store does not look into.
func encodeContent(s *weir.Spec) (string, error) {
	if s.Call == nil && len(s.Messages) > 0 {
		b := make([]byte, 0, 24+len(s.Messages)*4+len(s.Messages[0]))
		b = append(b, `{"messages":[`...)
		for i, m := range s.Messages {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, m)
		}
		return string(append(b, "]}"...)), nil
	}
	body, err := json.Marshal(content{s.Messages, s.Call})
	if err != nil {
		return "", fmt.Errorf("encode the content: %w", err)
	}
	return string(body), nil
}
