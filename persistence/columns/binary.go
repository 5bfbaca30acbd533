package columns

import (
	"encoding/binary"
	"time"
)

// Reader reads values from the front of encoded ones. Once broken it returns zeros.
type Reader struct {
	Rest   []byte
	Broken bool
}

func (r *Reader) fail() { r.Rest, r.Broken = nil, true }

// Count reads a number that is not negative, as binary.AppendUvarint wrote it.
func (r *Reader) Count() int64 {
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 || int64(n) < 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[size:]
	return int64(n)
}

// Number reads a number, as binary.AppendVarint wrote it.
func (r *Reader) Number() int64 {
	n, size := binary.Varint(r.Rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Instant reads an instant that was written as a number of microseconds.
func (r *Reader) Instant() time.Time { return Instant(r.Number()) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.Rest) == 0 {
		r.fail()
		return 0
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b
}

// Text reads what [AppendString] wrote.
func (r *Reader) Text() string {
	n := r.Count()
	if n > int64(len(r.Rest)) {
		r.fail()
		return ""
	}
	s := string(r.Rest[:n])
	r.Rest = r.Rest[n:]
	return s
}
