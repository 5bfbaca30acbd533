package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Kinds of entries.
const (
	kindEnded     = "ended"     // a contact ended
	kindCorrected = "corrected" // and was delivered after all
	kindReply     = "reply"     // a person sent a message
	kindCursor    = "cursor"    // the events up to this one were read
)

// entry is one line of the journal.
type entry struct {
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"` // of the person, or of the message
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
	From    string `json:"from,omitempty"`
	Text    string `json:"text,omitempty"`
	Cursor  int64  `json:"cursor,omitempty"`
}

// journal keeps what is known in a file to which lines are added. What add has returned
// from without an error survives a crash.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	size    int64 // of the complete lines
	ends    map[string]entry
	replies map[string]entry
	read    int64 // id of the last event that was read in order
}

// openJournal reads a journal, or makes one. A last line without its end was being
// written when the program was killed, and was not acknowledged, so it is dropped.
func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, ends: map[string]entry{}, replies: map[string]entry{}}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, or an incomplete line
			break
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%s: byte %d: %w", path, j.size, err)
		}
		j.take(e)
		j.size += int64(len(line))
	}
	if err := f.Truncate(j.size); err != nil {
		_ = f.Close()
		return nil, err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil { // so that the file itself survives
		_ = dir.Sync()
		_ = dir.Close()
	}
	return j, nil
}

// take applies an entry to memory. It reports whether that was news: each end counts once,
// and a correction outlasts the end that it corrects, whichever is heard first.
func (j *journal) take(e entry) bool {
	switch e.Kind {
	case kindEnded:
		if _, known := j.ends[e.ID]; known {
			return false
		}
		j.ends[e.ID] = e
	case kindCorrected:
		if j.ends[e.ID].Kind == kindCorrected {
			return false
		}
		j.ends[e.ID] = e
	case kindReply:
		if _, known := j.replies[e.ID]; known {
			return false
		}
		j.replies[e.ID] = e
	case kindCursor:
		if e.Cursor <= j.read {
			return false
		}
		j.read = e.Cursor
	}
	return true
}

// add makes entries durable that are news. Others are left out.
func (j *journal) add(list ...entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var text bytes.Buffer
	for _, e := range list {
		if !j.take(e) {
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	if text.Len() == 0 {
		return nil
	}
	n, err := j.file.WriteAt(text.Bytes(), j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		// Memory and file differ now. Only a new start can tell what is durable.
		fmt.Fprintln(os.Stderr, "outreach: the journal cannot be written:", err)
		os.Exit(1)
	}
	j.size += int64(n)
	return nil
}

func (j *journal) ended(person string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.ends[person]
	return ok
}

func (j *journal) cursor() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.read
}

// summary counts the known ends and replies.
type summary struct {
	People   int            `json:"people"`
	Ended    int            `json:"ended"`
	Outcomes map[string]int `json:"outcomes"`
	Replies  int            `json:"replies"`
}

func (j *journal) summary(people int) summary {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := summary{People: people, Ended: len(j.ends), Outcomes: map[string]int{}, Replies: len(j.replies)}
	for _, e := range j.ends {
		s.Outcomes[e.Outcome]++
	}
	return s
}

// Close closes the file.
func (j *journal) Close() error { return j.file.Close() }

// person is a line of the list.
type person struct{ id, number, text string }

func readPeople(path string) ([]person, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	r.FieldsPerRecord = 3
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	people := make([]person, 0, len(rows))
	seen := map[string]bool{}
	for i, row := range rows {
		if row[0] == "" || seen[row[0]] {
			return nil, fmt.Errorf("%s: line %d: the id %q is empty or occurs twice", path, i+1, row[0])
		}
		seen[row[0]] = true
		people = append(people, person{row[0], row[1], row[2]})
	}
	return people, nil
}
