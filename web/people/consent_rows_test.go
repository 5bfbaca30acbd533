package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"weir"
	"weir/people"
	"weir/surveys/respondents"
	"weir/web/imports"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// listedRow is a row of a list, as it is understood.
type listedRow struct {
	line  int
	value people.Consent
	wrong *imports.Mistake
}

// readList reads a list to its end. Its mistakes are those of its columns.
func readList(file, columns, encoding string) (list []listedRow, wrong []weir.FieldError, err error) {
	table, err := imports.Open(strings.NewReader(file), respondents.CSV, encoding)
	if err != nil {
		return nil, nil, err
	}
	mapped, wrong := ConsentColumns(table.Columns, columns)
	if len(wrong) > 0 {
		return nil, wrong, nil
	}
	k := &listKind{rows: newConsentRows("t", "", map[string]*people.Purpose{"research": people.NoRules()}, func() time.Time { return now })}
	report, err := imports.Run(context.Background(), k, table, mapped, imports.Options{})
	for _, e := range report.Reasons {
		k.list = append(k.list, listedRow{line: e.Line, wrong: &imports.Mistake{Column: e.Column, Reason: e.Reason}})
	}
	slices.SortFunc(k.list, func(a, b listedRow) int { return a.line - b.line })
	return k.list, nil, err
}

// listKind keeps the consents of a list.
type listKind struct {
	rows *consentRows
	list []listedRow
}

func (k *listKind) Read(columns []imports.Column, cells []string) (people.Consent, *imports.Mistake) {
	return k.rows.consent(columns, cells)
}

func (*listKind) Object(string) (people.Consent, *imports.Mistake) { return people.Consent{}, nil }

func (k *listKind) Store(_ context.Context, rows []*imports.Row[people.Consent]) error {
	for _, r := range rows {
		k.list = append(k.list, listedRow{line: r.Line, value: r.Value})
	}
	return nil
}

func TestConsentRows_AreUnderstood(t *testing.T) {
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
		"one column":           {"", "phone\n+15550100234\n\n+52 55 1234 5678\n", []string{"2 +15550100234 refused", "4 +525512345678 refused"}},
		"semicolons":           {"", "\ufeffMSISDN;Words\n525512345678;Baja, por favor\n", []string{"2 +525512345678 refused Baja, por favor"}},
		"named columns":        {"Cell-Phone=to,changed=at,note=words", "cell phone,Changed,note,phone\n+15550100234,2024-05-06T21:19:27,no more,+1\n", []string{"2 +15550100234 refused 2024-05-06T21:19:27Z no more"}},
		"nothing but refusals": {"=status,=at,=words", "to,status,at,words\n+15550100234,active,yesterday,x\n", []string{"2 +15550100234 refused"}},
		"true in a column of refusals": {"opted_out=status", "phone,Opted Out\n+15550100234,TRUE\n+15550100235,false\n+15550100236,1\n+15550100237,\n",
			[]string{"2 +15550100234 refused", "3 +15550100235 ", "4 +15550100236 refused", "5 Opted Out: must be refused or given (or opted out, opted in, true, false)"}},
		"true in a column of consents": {"subscribed=status", "phone,subscribed\n+15550100234,yes\n+15550100235,no\n", []string{"2 +15550100234 given", "3 +15550100235 refused"}},
		"true in another column": {"status=status", "phone,status\n+15550100234,true\n+15550100235,false\n+15550100236,Refused\n+15550100237,Given\n", []string{
			"2 status: must be refused or given (or opted out, opted in)", "3 status: must be refused or given (or opted out, opted in)", "4 +15550100236 refused", "5 +15550100237 given"}},
		"other addresses": {"", "address\nana@example.org\nU024BE7LH\n12\n", []string{"2 ana@example.org refused", "3 u024be7lh refused", "4 12 refused"}},
		"bad addresses": {"", "phone,words\n,x\n5.25512E+12,x\n\"5,25512e12\",x\n-,x\nAna Maria,x\nn\x01,x\n" + strings.Repeat("9", 256) + ",x\n", []string{
			"2 phone: is missing", "3 phone: is a number that a spreadsheet has rounded; export the column as text", "4 phone: is a number that a spreadsheet has rounded; export the column as text",
			"5 phone: is neither a phone number nor another address", "6 phone: is no phone number, and another address has no blanks", "7 phone: is neither a phone number nor another address", "8 phone: has more than 255 characters"}},
		"bad instants": {"", "phone,at\n+15550100234,05/06/2024\n+15550100234,2026-05-04T12:00:01Z\n+15550100234,20240506\n+15550100234,1969-12-31\n", []string{
			"2 at: must be an instant, such as 2026-01-31T09:00:00Z or 2026-01-31 09:00:00, which is UTC", "3 at: must not be in the future",
			"4 at: must be an instant, such as 2026-01-31T09:00:00Z or 2026-01-31 09:00:00, which is UTC", "5 at: must be an instant from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59Z"}},
		"purposes": {"", "phone,Purpose\n+15550100234,research\n+15550100235,all\n+15550100236,\n+15550100237,+15550100237\n", []string{"2 +15550100234 refused for research", "3 +15550100235 refused", "4 +15550100236 refused", "5 Purpose: is not a purpose"}},
		"bad rows": {"", "phone,words\n+15550100234\n+15550100235,\"x\n+15550100236," + strings.Repeat("ä", 501) + "\n+15550100237," + strings.Repeat("ä", 500) + "\n", []string{
			"2 : has 1 fields; the header has 2", "3 : unclosed quote (searched 20 lines)", "4 words: has more than 500 characters", "5 +15550100237 refused " + strings.Repeat("ä", 500)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, refused, err := readList(x.file, x.flags, "")
			if len(refused) > 0 {
				t.Fatal(refused)
			}
			var got []string
			for i := range list {
				r := &list[i]
				if r.wrong != nil {
					got = append(got, fmt.Sprintf("%d %s: %s", r.line, r.wrong.Column, r.wrong.Reason))
					continue
				}
				text := fmt.Sprintf("%d %s %s", r.line, plainAddress(r.value.Address), r.value.Status)
				if !r.value.At.IsZero() {
					text += " " + r.value.At.Format(time.RFC3339Nano)
				}
				if r.value.Words != "" {
					text += " " + r.value.Words
				}
				if r.value.Purpose != people.AllPurposes {
					text += " for " + r.value.Purpose
				}
				got = append(got, text)
			}
			if diff := gocmp.Diff(x.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestConsentColumns_ThatCouldBeMistakenAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ columns, header, want string }{
		{"", "+15550100234", "/columns required"},
		{"", "name,from", "/columns required"},
		{"", "from,to,body", "/columns/1 required"},
		{"from=to", "from,to,body", "to - -"},
		{"", "phone,Consent Status", "/columns/1 required"},
		{"", "phone,opted_in", "/columns/1 required"},
		{"opted_in=", "phone,opted_in", "to -"},
		{"=status", "phone,status", "to -"},
		{"state=status", "phone,status", "/columns unknown"},
		{"when=at", "phone", "/columns unknown"},
		{"", "phone,Phone", "/columns/1 duplicate"},
		{"Phone=to", "phone,Phone", "to -"},
		{"#2=to", "phone,Phone", "- to"},
		{"", "phone,to,address", "- to -"},
		{"a=at,b=at", "phone,a,b", "/columns/2 duplicate"},
		{"a=what", "phone,a", "/columns/1 unknown"},
		{"a", "phone,a", "/columns format"},
		{"\"", "phone", "/columns format"},
		{"*=", "phone,at,x", "to at -"},
		{"=at,=purpose", "phone,at,purpose", "to - -"},
		{"", "phone,date,purpose,weir_line,weir_reason", "to at purpose - -"},
		{"", "phone" + strings.Repeat(",x", 100), "/columns length"},
	} {
		headers, err := respondents.SplitList(x.header)
		if err != nil {
			t.Fatal(err)
		}
		columns, wrong := ConsentColumns(headers, x.columns)
		got := make([]string, len(columns))
		for i, c := range columns {
			got[i] = cmp.Or(c.Field, "-")
		}
		text := strings.Join(got, " ")
		if len(wrong) > 0 {
			text = wrong[0].Pointer + " " + wrong[0].Code
		}
		if text != x.want || strings.Contains(fmt.Sprint(wrong), "555") {
			t.Errorf("%s of %s: %s %v, want %s", x.columns, x.header, text, wrong, x.want)
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
func TestConsentRows_KeyNamesWhatARowSays(t *testing.T) {
	t.Parallel()
	list, wrong, err := readList("to,s,at,words,purpose\n+525512345678,refused,,x,\n+52 1 55 1234 5678,refused,,y,all\n+525512345678,given,,,\n+525512345678,refused,2024-05-06,,\n+525512345678,refused,2024-05-06T00:00:00Z,,\n+525512345678,refused,2024-05-06,,research\n", "s=status", "")
	if err != nil || wrong != nil || len(list) != 6 {
		t.Fatal(err, wrong, len(list))
	}
	var same []bool
	for i := 1; i < len(list); i++ {
		same = append(same, list[i].value.Key == list[i-1].value.Key)
	}
	if diff := gocmp.Diff([]bool{true, false, false, true, false}, same); diff != "" {
		t.Error(diff)
	}
	one := &list[0].value
	named := newConsentRows("t", "crm", nil, nil).key(one)
	if one.Key == named || !strings.HasPrefix(named, "client:import:crm:") || !strings.HasPrefix(one.Key, "client:import:") || len(newConsentRows("t", strings.Repeat("x", maxRun), nil, nil).key(one)) > people.MaxKey {
		t.Error(one.Key, named)
	}
	// Rows that earlier versions have recorded are known.
	if want := "client:import:31328f75"; !strings.HasPrefix(one.Key, want) {
		t.Errorf("%s, want %s…", one.Key, want)
	}
}

// FuzzConsentRows checks that a list is read to its end, or rejected with a reason; rows are in order, and what is to be recorded is what the store accepts.
func FuzzConsentRows(f *testing.F) {
	f.Add("to,at,words\n+15550001,2024-05-06,b\n\n+15550002,1715030367.5,\"two\nlines\"\n", "", "")
	f.Add("\xef\xbb\xbfPhone;opted_out\r\n1;true\r2;no\n3;\"\n", "opted_out=status", "")
	f.Add("OptedOutNumber\tat\n5.2E+12\tMon, 06 May 2024 21:19:27 GMT\n", "", "windows-1252")
	f.Fuzz(func(t *testing.T, file, columns, encoding string) {
		list, _, err := readList(file, columns, encoding)
		if err != nil && weir.CodeOf(err) != weir.CodeInvalid {
			t.Fatal(err)
		}
		last := 0
		for i := range list {
			r := &list[i]
			if r.line <= last || r.line > len(file)+1 {
				t.Fatalf("line %d after line %d", r.line, last)
			}
			last = r.line
			if r.wrong != nil {
				if r.wrong.Reason == "" {
					t.Fatalf("%+v", r)
				}
				continue
			}
			c := &r.value
			if utf8.RuneCountInString(c.Words) > maxWords || c.At.After(now) || c.Status != "" && c.Status != people.Refused && c.Status != people.Given || c.Key == "" || c.Address == "" || !utf8.ValidString(c.Address+c.Words) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// Scenario 359.
func TestConsentRows_NumbersWithoutCountryCodeAreRejected(t *testing.T) {
	t.Parallel()
	list, _, err := readList("phone\n0722000101\n+254722000101\n", "", "")
	if err != nil || len(list) != 2 || list[0].wrong == nil || list[0].line != 2 || !strings.Contains(list[0].wrong.Reason, "no country code") || list[1].wrong != nil {
		t.Errorf("%+v, %v", list, err)
	}
}
