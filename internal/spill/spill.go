// Package spill sorts more values than memory should hold: beyond a bound they go, sorted in runs,
// to a temporary file, and the runs are merged while they are read.
package spill

import (
	"bufio"
	"compress/flate"
	"container/heap"
	"encoding/gob"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

// Sorter sorts values that encoding/gob can encode. It is not for concurrent use.
type Sorter[T any] struct {
	// Compare orders the values. Equal ones have no order.
	Compare func(a, b *T) int
	// Max is the number of values in memory.
	Max int

	values []T
	file   *os.File // nil: everything is in memory
	runs   []run
}

// run is where sorted values stand in the file.
type run struct{ begin, end int64 }

// Add adds a value.
func (s *Sorter[T]) Add(v T) error {
	if len(s.values) >= s.Max {
		if err := s.write(); err != nil {
			return err
		}
	}
	s.values = append(s.values, v)
	return nil
}

// write moves the values in memory to the file.
func (s *Sorter[T]) write() (err error) {
	if s.file == nil {
		if s.file, err = temporary(); err != nil {
			return err
		}
	}
	s.sort()
	var at run
	if at.begin, err = s.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(s.file, 1<<16)
	packed, _ := flate.NewWriter(buffered, flate.BestSpeed) // fails for a wrong level only
	out := gob.NewEncoder(packed)
	for i := range s.values {
		if err := out.Encode(&s.values[i]); err != nil {
			return err
		}
	}
	if err := errors.Join(packed.Close(), buffered.Flush()); err != nil {
		return err
	}
	if at.end, err = s.file.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	clear(s.values) // or the texts in them stay in memory
	s.runs, s.values = append(s.runs, at), s.values[:0]
	return nil
}

func (s *Sorter[T]) sort() { slices.SortFunc(s.values, func(a, b T) int { return s.Compare(&a, &b) }) }

// temporary creates a file without a name, so that nothing is left of it however the process ends.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "weir-sorted-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// source is a run that is being merged.
type source[T any] struct {
	next func(*T) error // io.EOF: there are no more
	head T              // the value that is next
}

// advance reads the next value; more is false if there is none.
func (s *source[T]) advance() (more bool, err error) {
	var v T // gob leaves the fields of zero values as they are
	err = s.next(&v)
	s.head = v
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// merging is a heap of runs, of which the one with the first value comes first.
type merging[T any] struct {
	*Sorter[T]
	runs []*source[T]
}

func (m *merging[T]) Len() int           { return len(m.runs) }
func (m *merging[T]) Less(i, j int) bool { return m.Compare(&m.runs[i].head, &m.runs[j].head) < 0 }
func (m *merging[T]) Swap(i, j int)      { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merging[T]) Push(x any)         { m.runs = append(m.runs, x.(*source[T])) }
func (m *merging[T]) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}

// Sorted returns all values in order, for one pass, after which nothing can be added. It ends with
// the first error.
func (s *Sorter[T]) Sorted() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		open, err := s.sources()
		if err != nil {
			yield(none, err)
			return
		}
		m := &merging[T]{s, open}
		for heap.Init(m); len(m.runs) > 0; {
			first := m.runs[0]
			if !yield(first.head, nil) {
				return
			}
			switch more, err := first.advance(); {
			case err != nil:
				yield(none, err)
				return
			case more:
				heap.Fix(m, 0)
			default:
				heap.Pop(m)
			}
		}
	}
}

// sources opens all runs, the last of which is in memory, and reads the first value of each.
func (s *Sorter[T]) sources() (list []*source[T], err error) {
	s.sort()
	open := make([]func(*T) error, 0, len(s.runs)+1)
	for _, r := range s.runs {
		packed := flate.NewReader(bufio.NewReader(io.NewSectionReader(s.file, r.begin, r.end-r.begin)))
		in := gob.NewDecoder(bufio.NewReader(packed))
		open = append(open, func(v *T) error { return in.Decode(v) })
	}
	at := 0
	open = append(open, func(v *T) error {
		if at == len(s.values) {
			return io.EOF
		}
		*v, at = s.values[at], at+1
		return nil
	})
	for _, next := range open {
		one := &source[T]{next: next}
		more, err := one.advance()
		if err != nil {
			return nil, err
		}
		if more {
			list = append(list, one)
		}
	}
	return list, nil
}

// Close deletes the temporary file.
func (s *Sorter[T]) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
