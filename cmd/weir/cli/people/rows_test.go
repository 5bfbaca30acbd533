package people

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"weir"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// asked returns the columns of a command line: "status=x at=".
func asked(flags string) columnNames {
	values := map[string]string{}
	for _, f := range strings.Fields(flags) {
		name, value, _ := strings.Cut(f, "=")
		values[name] = value
	}
	return columnNames{
		address: values["address"], status: values["status"], at: values["at"], words: values["words"],
		given: func(flag string) bool { _, ok := values[flag]; return ok },
	}
}

// readRows reads a list to its end.
func readRows(from io.Reader, wanted columnNames, encoding string) (list []row, err error) {
	in, err := newRows(from, encoding, wanted, "", func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	for {
		r, err := in.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, r)
	}
}

func TestRows_AreUnderstood(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		flags, file string
		want        []string
	}{
		"Amazon, seconds": {"", "OptedOutNumber,OptedOutTimestamp,EndUserOptedOut\n+15550100234,1578693450.5,true\n+15550100235,1578693450,false\n",
			[]string{"2 +15550100234 refused 2020-01-10T21:57:30.5Z", "3 +15550100235 refused 2020-01-10T21:57:30Z"}},
		"Amazon, ISO":          {"", "\"OptedOutNumber\",\"OptedOutTimestamp\"\n\"+15550100234\",\"2024-05-06T14:19:27.123000-07:00\"\n", []string{"2 +15550100234 refused 2024-05-06T21:19:27.123Z"}},
		"Twilio":               {"", "Phone Number,Date\n+15550100234,2024-05-06 21:19:27 UTC\n", []string{"2 +15550100234 refused 2024-05-06T21:19:27Z"}},
		"Twilio's consents":    {"status=status", "contact_id,status,date_of_consent\n+15550100234,opt-out,2025-02-28T10:05:27Z\n+15550100235,opt-in,2025-03-25\n+15550100236,re-opt in,\n", []string{"2 +15550100234 refused 2025-02-28T10:05:27Z", "3 +15550100235 given 2025-03-25T00:00:00Z", "4 +15550100236 given"}},
		"one column":           {"", "phone\n+15550100234\n\n+52 55 1234 5678\n", []string{"2 +15550100234 refused", "4 +52 55 1234 5678 refused"}},
		"semicolons":           {"", "\ufeffMSISDN;Words\n525512345678;Baja, por favor\n", []string{"2 525512345678 refused Baja, por favor"}},
		"named columns":        {"address=Cell-Phone at=changed words=note", "cell phone,Changed,note,phone\n+15550100234,2024-05-06T21:19:27,no more,+1\n", []string{"2 +15550100234 refused 2024-05-06T21:19:27Z no more"}},
		"nothing but refusals": {"status= at= words=", "to,status,at,words\n+15550100234,active,yesterday,x\n", []string{"2 +15550100234 refused"}},
		"true in a column of refusals": {"status=opted_out", "phone,Opted Out\n+15550100234,TRUE\n+15550100235,false\n+15550100236,1\n+15550100237,\n",
			[]string{"2 +15550100234 refused", "3 +15550100235 ", "4 +15550100236 refused", "5 Opted Out: must be refused or given (or opted out, opted in, true, false)"}},
		"true in a column of consents": {"status=subscribed", "phone,subscribed\n+15550100234,yes\n+15550100235,no\n", []string{"2 +15550100234 given", "3 +15550100235 refused"}},
		"true in another column": {"status=status", "phone,status\n+15550100234,true\n+15550100235,false\n+15550100236,Refused\n+15550100237,Given\n", []string{
			"2 status: must be refused or given (or opted out, opted in)", "3 status: must be refused or given (or opted out, opted in)", "4 +15550100236 refused", "5 +15550100237 given"}},
		"other addresses": {"", "address\nana@example.org\nU024BE7LH\n12\n", []string{"2 ana@example.org refused", "3 U024BE7LH refused", "4 12 refused"}},
		"bad addresses": {"", "phone,words\n,x\n5.25512E+12,x\n\"5,25512e12\",x\n-,x\nAna Maria,x\nn\x01,x\n" + strings.Repeat("9", 256) + ",x\n", []string{
			"2 phone: is missing", "3 phone: is a number that a spreadsheet has rounded; export the column as text", "4 phone: is a number that a spreadsheet has rounded; export the column as text",
			"5 phone: is neither a phone number nor another address", "6 phone: is no phone number, and another address has no blanks", "7 phone: is neither a phone number nor another address", "8 phone: has more than 255 characters"}},
		"bad instants": {"", "phone,at\n+15550100234,05/06/2024\n+15550100234,2026-05-04T12:00:01Z\n+15550100234,20240506\n+15550100234,1969-12-31\n", []string{
			"2 at: must be an instant, such as 2026-01-31T09:00:00Z or 2026-01-31 09:00:00, which is UTC", "3 at: must not be in the future",
			"4 at: must be an instant, such as 2026-01-31T09:00:00Z or 2026-01-31 09:00:00, which is UTC", "5 at: must be an instant from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59Z"}},
		"bad rows": {"", "phone,words\n+15550100234\n+15550100235,\"x\n+15550100236," + strings.Repeat("ä", 501) + "\n+15550100237," + strings.Repeat("ä", 500) + "\n", []string{
			"2 : has 1 fields; the header has 2", "3 : unclosed quote (searched 20 lines)", "4 words: has more than 500 characters", "5 +15550100237 refused " + strings.Repeat("ä", 500)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := readRows(strings.NewReader(x.file), asked(x.flags), "")
			var got []string
			for i := range list {
				r := &list[i]
				if r.wrong != nil {
					got = append(got, fmt.Sprintf("%d %s: %s", r.wrong.Line, r.wrong.Column, r.wrong.Reason))
					continue
				}
				text := fmt.Sprintf("%d %s %s", r.line, r.consent.To, r.consent.Status)
				if !r.consent.At.IsZero() {
					text += " " + r.consent.At.Format(time.RFC3339Nano)
				}
				if r.consent.Words != "" {
					text += " " + r.consent.Words
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(x.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestRows_ColumnsThatCouldBeMistakenAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ flags, header, want string }{
		{"", "+15550100234", "no column of addresses"},
		{"", "name,from", "no column of addresses"},
		{"", "from,to,body", "--address says which"},
		{"address=from", "from,to,body", ""},
		{"", "phone,Consent Status", "--status names it"},
		{"", "phone,opted_in", "--status names it"},
		{"status=", "phone,status", ""},
		{"status=state", "phone,status", "--status names no column"},
		{"at=when", "phone", "--at names no column"},
		{"", "phone,Phone", "two columns that --address"},
		{"", "to,phone,address", ""},
		{"", "phone,date,weir_line,weir_reason", ""},
	} {
		_, err := readRows(strings.NewReader(x.header+"\n"), asked(x.flags), "")
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "555")) {
			t.Errorf("%s of %s: %v, want %s", x.flags, x.header, err, x.want)
		}
	}
}

func TestParseInstant_ReadsWhatProvidersWrite(t *testing.T) {
	t.Parallel()
	const want = "2024-05-06T21:19:27Z"
	for _, text := range []string{
		want, "2024-05-06T14:19:27-07:00", "2024-05-06T14:19:27-0700", "2024-05-06 21:19:27", "2024-05-06T21:19:27", "2024-05-06 21:19:27 UTC", "2024-05-06 14:19:27-07:00",
		"2024-05-06 14:19:27 -0700", "1715030367", "1715030367000", "Mon, 06 May 2024 21:19:27 +0000", "Mon, 6 May 2024 14:19:27 -0700", "Mon, 06 May 2024 21:19:27 GMT",
	} {
		if at, wrong := parseInstant(text, now); at.Format(time.RFC3339Nano) != want || wrong != "" {
			t.Errorf("%s is %s %s", text, at, wrong)
		}
	}
	for _, text := range []string{"2024-05-06 21:19:27 CST", "1.71503E+09", "6 May 2024", "171503036712345", "1715030367.5.5", "now"} {
		if at, wrong := parseInstant(text, now); wrong == "" || !at.IsZero() {
			t.Errorf("%s is %s", text, at)
		}
	}
}

// The same row of another file is the same consent; another one is none of the others.
func TestKeyOf_NamesWhatARowSays(t *testing.T) {
	t.Parallel()
	list, err := readRows(strings.NewReader("to,s,at,words\n+525512345678,refused,,x\n+52 1 55 1234 5678,refused,,y\n+525512345678,given,,\n+525512345678,refused,2024-05-06,\n+525512345678,refused,2024-05-06T00:00:00Z,\n"), asked("status=s"), "")
	if err != nil || len(list) != 5 {
		t.Fatal(err)
	}
	var same []bool
	for i := 1; i < len(list); i++ {
		same = append(same, list[i].consent.Key == list[i-1].consent.Key)
	}
	if diff := cmp.Diff([]bool{true, false, false, true}, same); diff != "" {
		t.Error(diff)
	}
	if one, other := keyOf("crm", &list[0]), list[0].consent.Key; one == other || !strings.HasPrefix(one, "import:crm:") || !strings.HasPrefix(other, "import:") || len(keyOf(strings.Repeat("x", maxSource), &list[0])) > 200 {
		t.Error(one, other)
	}
}

// FuzzRows checks that a list is read to its end, or rejected with a reason; rows are in order, and what is to be recorded is what the API accepts.
func FuzzRows(f *testing.F) {
	f.Add([]byte("to,at,words\n+15550001,2024-05-06,b\n\n+15550002,1715030367.5,\"two\nlines\"\n"), "", "")
	f.Add([]byte("\xef\xbb\xbfPhone;opted_out\r\n1;true\r2;no\n3;\"\n"), "opted_out", "")
	f.Add([]byte("OptedOutNumber\tat\n5.2E+12\tMon, 06 May 2024 21:19:27 GMT\n"), "", "windows-1252")
	f.Fuzz(func(t *testing.T, file []byte, status, encoding string) {
		wanted := columnNames{status: status, given: func(flag string) bool { return flag == "status" }}
		list, err := readRows(bytes.NewReader(file), wanted, encoding)
		if _, wrong := errors.AsType[*columnError](err); err != nil && !wrong {
			if _, invalid := errors.AsType[*weir.Error](err); !invalid {
				t.Fatal(err)
			}
		}
		last := 0
		for i := range list {
			r := &list[i]
			if r.line <= last || r.line > len(file)+1 {
				t.Fatalf("line %d after line %d", r.line, last)
			}
			last = r.line
			if r.wrong != nil || r.saysNothing() {
				if r.wrong != nil && (r.wrong.Line != r.line || r.wrong.Reason == "" || len(r.fields) == 0) {
					t.Fatalf("%+v", r.wrong)
				}
				continue
			}
			c := &r.consent
			if n := utf8.RuneCountInString(c.To); n < 1 || n > maxAddress || utf8.RuneCountInString(c.Words) > maxWords || c.At.After(now) || c.Status != refused && c.Status != given || c.Key == "" || r.canonical == "" || !utf8.ValidString(c.To+c.Words) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

func TestRows_NumbersWithoutCountryCodeAreRejected(t *testing.T) {
	t.Parallel()
	list, err := readRows(strings.NewReader("phone\n0722000101\n+254722000101\n"), asked(""), "")
	if err != nil || len(list) != 2 || list[0].wrong == nil || list[0].wrong.Line != 2 || !strings.Contains(list[0].wrong.Reason, "no country code") || list[1].wrong != nil {
		t.Errorf("%+v, %v", list, err)
	}
}
