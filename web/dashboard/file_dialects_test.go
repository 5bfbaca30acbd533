package dashboard_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"weir/cmd/weir/cli"
)

// Scenario 413: a file of every dialect is the same contacts with the same keys, whoever sends it.
func TestContactImport_EveryDialectIsTheSameContactsByEveryWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read contacts:write pii:read")
	server := httptest.NewServer(r.handler)
	defer server.Close()
	b := r.login("contacts:read contacts:write pii:read")
	const file = "Phone,Text,label.Ward,not_before,,\n+15550001,\"Sí, mañana; o\tno\",7,2026-05-04T09:00:00+02:00,,\n\"+15550002\",hello,\"a,b;c\td\",,,\n"
	encodings := map[string]func(string) (string, error){
		"utf-8": func(s string) (string, error) { return s, nil }, "utf-8 with mark": func(s string) (string, error) { return "\ufeff" + s, nil },
		"utf-16le":     unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String,
		"utf-16be":     unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String,
		"windows-1252": charmap.Windows1252.NewEncoder().String,
	}
	send := func(channel, file, want string) {
		t.Helper()
		var out, errs bytes.Buffer
		cli.Run(t.Context(), []string{"contact", "send", channel, "--file", file}, cli.Options{
			Environ: []string{"WEIR_URL=" + server.URL, "WEIR_TOKEN=" + adminToken}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		})
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s %s; want %s", channel, out.String(), errs.String(), want)
		}
	}
	upload := func(channel, text string) string {
		page := b.upload("/contacts/_import", []string{"channel", channel}, strings.NewReader(text)).want(200)
		return counts(b.upload("/contacts/_import/send", append(again(page)[2:], "channel", channel, "carried", hidden(page, "carried")), nil).want(200))
	}
	r.channel("first")
	r.channel("second")
	var last [2]string
	for _, separator := range []string{",", ";", "\t"} {
		for _, end := range []string{"\n", "\r\n"} {
			for name, encode := range encodings {
				text := strings.ReplaceAll(separated(file, separator), "\n", end)
				text, err := encode(text)
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), "people.csv")
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if last[0] == "" {
					send("first", path, "2 contacts queued, 0 already known, 0 rows rejected")
					if got := upload("second", text); got != "2 0 0" {
						t.Fatalf("the dashboard queued %s", got)
					}
				}
				// The other way, and every other dialect, finds the contacts as they are.
				send("second", path, "0 contacts queued, 2 already known, 0 rows rejected")
				if got := upload("first", text); got != "0 2 0" {
					t.Errorf("%q, %q, %s: the dashboard queued %s", separator, end, name, got)
				}
				for i, channel := range []string{"first", "second"} {
					var keys []string
					for _, c := range r.contactsOf(channel) {
						keys = append(keys, c.Key+" "+c.To+" "+fmt.Sprint(c.Messages, c.Labels, c.NotBefore))
					}
					slices.Sort(keys)
					got := strings.Join(keys, "\n")
					if len(keys) != 2 || last[i] != "" && last[i] != got {
						t.Errorf("%q, %q, %s: %s has %s, after %s", separator, end, name, channel, got, last[i])
					}
					last[i] = got
				}
			}
		}
	}
}

// separated returns a file with another separator than the comma, except inside quotes.
func separated(file, separator string) string {
	parts := strings.Split(file, `"`)
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], ",", separator)
	}
	return strings.Join(parts, `"`)
}
