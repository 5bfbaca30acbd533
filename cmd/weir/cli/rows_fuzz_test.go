package cli_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/cmd/weir/cli"
)

// FuzzRows checks that a file of contacts is read to its end, or rejected with a reason; rows are in order, each with its line.
func FuzzRows(f *testing.F) {
	f.Add(true, []byte("to,message,label.a\n+15550001,hello,b\n\n+15550002,\"two\nlines\",c\n"))
	f.Add(true, []byte("\xef\xbb\xbfto\r\n1\r2\r\n"))
	f.Add(true, []byte("to,not_before,call_flow_id\n1,soon,x\n"))
	f.Add(false, []byte(`{"to":"+15550001","messages":["x"]}`+"\n\n{}\n[1]\nnull {}"))
	f.Fuzz(func(t *testing.T, csv bool, file []byte) {
		lines, err := cli.ReadRows(csv, bytes.NewReader(file))
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
