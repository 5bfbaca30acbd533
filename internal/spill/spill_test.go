package spill

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type entry struct {
	Who, ID int
	Text    string
}

func byWho(a, b *entry) int { return cmp.Or(cmp.Compare(a.Who, b.Who), cmp.Compare(a.ID, b.ID)) }

// However few values fit into memory, all come out as they went in, in order.
func TestSorter_ReturnsAllValuesInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Sorter[entry]{Compare: byWho, Max: rapid.IntRange(1, 12).Draw(t, "max")}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		var want, got []entry
		for i, who := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 60).Draw(t, "whose") {
			e := entry{Who: who, ID: i, Text: strings.Repeat("x", i%3)} // without a text the field is not encoded
			want = append(want, e)
			if err := s.Add(e); err != nil {
				t.Fatal(err)
			}
			if len(s.values) > s.Max {
				t.Fatalf("%d values in memory", len(s.values))
			}
		}
		for e, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		slices.SortFunc(want, func(a, b entry) int { return byWho(&a, &b) })
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// The temporary file has no name from the beginning, and a sorter that is left in the middle is closed
// like one that was read to its end.
func TestSorter_LeavesNoFile(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s := Sorter[entry]{Compare: byWho, Max: 2}
	for i := range 9 {
		if err := s.Add(entry{ID: i}); err != nil {
			t.Fatal(err)
		}
	}
	for e, err := range s.Sorted() {
		if err != nil || e.ID != 0 {
			t.Fatalf("%v, %v", e, err)
		}
		break
	}
	left, err := os.ReadDir(folder)
	if s.file == nil || len(left) != 0 || err != nil || s.Close() != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A file that cannot be written or read is an error, not fewer values.
func TestSorter_ReportsAFileThatFails(t *testing.T) {
	t.Parallel()
	s := Sorter[entry]{Compare: byWho, Max: 1}
	for i := range 3 {
		if err := s.Add(entry{ID: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.file.Truncate(s.runs[1].end - 1); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range s.Sorted() {
		last = err
	}
	if last == nil {
		t.Error("a file without its end was read without an error")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Add(entry{}) == nil {
		t.Error("a value was added to a closed file")
	}
}
