package imports_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir"
	"weir/persistence/storetest"
	"weir/web/webtest"
)

// Scenario 474: an import that is cut anywhere, or canceled, which is the same, leaves exactly the rows before the cut, and the same
// file sent again stores each row once: contacts, respondents and consents, on both stores.
func TestImport_ThatIsCutAndSentAgainStoresEachRowOnce(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		r := webtest.NewOn(t, url)
		for name, kind := range map[string]struct{ path, header, stored string }{
			"contacts":    {"/v1/channels/%s/contacts:import", "to,message", "queued"},
			"respondents": {"/v1/surveys/%s/respondents?on_error=skip", "phone,name", "added"},
			"consents":    {"/v1/consents?run=%s", "phone,words", "refused"},
		} {
			i := importOf{rig: r, kind: name}
			files := 0
			t.Run(name, func(t *testing.T) {
				rapid.Check(t, func(d *rapid.T) {
					files++ // also after a failure, which is repeated with less
					i.begin(fmt.Sprintf("f%d", files))
					path, rows := fmt.Sprintf(kind.path, i.into), rapid.IntRange(1, 1200).Draw(d, "rows")
					var b strings.Builder
					b.WriteString(kind.header + "\n")
					for n := range rows {
						fmt.Fprintf(&b, "%s,\"row, %d\"\n", webtest.PhoneNumber(n), n)
					}
					file := b.String()
					cut := rapid.IntRange(0, len(file)-1).Draw(d, "bytes")
					before := max(0, strings.Count(file[:cut], "\n")-1)
					upload(d, r, path, file[:cut], len(file))
					if got := i.stored(d); got != before {
						d.Fatalf("%d rows before the cut, %d are stored", before, got)
					}
					want := rows - before
					if name == "consents" { // they are counted as they were said, recorded before or not
						want = rows
					}
					told := upload(d, r, path, file, len(file))
					if got := told[kind.stored]; got != float64(want) || i.stored(d) != rows {
						d.Fatalf("%v stored, want %d of %d: %v", got, want, rows, told)
					}
				})
			})
		}
	})
}

// importOf is where the rows of a file go.
type importOf struct {
	rig     *webtest.Rig
	kind    string
	into    string // channel, survey or run
	channel weir.ChannelID
	after   int64 // id of the last consent before
}

// begin makes a place without rows.
func (i *importOf) begin(name string) {
	switch i.into = name; i.kind {
	case "contacts":
		i.channel = i.rig.Channel(name, "texts").ID
	case "respondents":
		i.rig.Put(name, "")
	}
}

// stored returns how many rows are stored. No number is there twice.
func (i *importOf) stored(t *rapid.T) int {
	var numbers []string
	switch i.kind {
	case "contacts":
		for f := (weir.ContactFilter{Channel: i.channel, Limit: 1000}); ; {
			list, next, err := i.rig.Contacts(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for n := range list {
				numbers = append(numbers, list[n].To)
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
	case "respondents":
		for _, p := range i.rig.RespondentsOf(i.into) {
			numbers = append(numbers, p.Phone)
		}
	case "consents":
		numbers = i.said(t)
	}
	slices.Sort(numbers)
	if once := len(slices.Compact(slices.Clone(numbers))); once != len(numbers) {
		t.Fatalf("%d rows of %d people", len(numbers), once)
	}
	return len(numbers)
}

// said returns of whom consents were recorded in the run.
func (i *importOf) said(t *rapid.T) (numbers []string) {
	for after := i.after; ; {
		list, err := i.rig.AllConsents(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for n := range list {
			after = list[n].ID
			if strings.HasPrefix(list[n].Key, "client:import:"+i.into+":") {
				numbers = append(numbers, list[n].Address)
			} else {
				i.after = after
			}
		}
		if len(list) < 1000 {
			return numbers
		}
	}
}

// upload sends what arrives of a file of a length over a connection, and returns the figures of the answer when the server has
// finished with it.
func upload(t *rapid.T, r *webtest.Rig, path, arrives string, length int) map[string]any {
	server := httptest.NewServer(r.Handler)
	defer server.Close() // waits for the request
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: weir\r\nContent-Type: text/csv\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", path, webtest.APICanary, length, arrives)
	if err != nil {
		t.Fatal(err)
	}
	if len(arrives) < length {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var told map[string]any
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	if of, ok := told["file"].(map[string]any); ok {
		return of
	}
	return told
}
