package contacts

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/client"
	"weir/surveys/respondents"
)

// FuzzRows checks that a file of contacts is read to its end, or rejected with a reason; rows are in order, each with its line.
func FuzzRows(f *testing.F) {
	f.Add(true, []byte("to,message,label.a\n+15550001,hello,b\n\n+15550002,\"two\nlines\",c\n"))
	f.Add(true, []byte("\xef\xbb\xbfto\r\n1\r2\r\n"))
	f.Add(true, []byte("to,not_before,call_flow_id\n1,soon,x\n"))
	f.Add(false, []byte(`{"to":"+15550001","messages":["x"]}`+"\n\n{}\n[1]\nnull {}"))
	f.Fuzz(func(t *testing.T, csv bool, file []byte) {
		lines, err := readRows(csv, bytes.NewReader(file))
		if err == nil || !errors.Is(err, io.EOF) && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("it ended with %v", err)
		}
		last, most := 0, bytes.Count(file, []byte("\n"))+bytes.Count(file, []byte("\r"))+1
		for _, line := range lines {
			if line <= last || line > most {
				t.Errorf("line %d after line %d, of %d", line, last, most)
			}
			last = line
		}
	})
}

// readRows reads a file of contacts to its end and returns the line numbers of its rows.
func readRows(csv bool, from io.Reader) (lines []int, err error) {
	var source rows = newJSONRows(from, client.ContactBody{})
	if csv {
		if source, err = newCSVRows(from, "", client.ContactBody{}); err != nil {
			return nil, err
		}
	}
	for {
		r, err := source.next()
		if err != nil {
			return lines, err
		}
		if r.wrong == nil {
			if _, err := respondents.ContactKey("sms", "run", &r.contact); err != nil {
				return lines, err
			}
		}
		lines = append(lines, r.line)
	}
}
