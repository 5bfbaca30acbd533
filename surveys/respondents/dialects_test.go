package respondents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys/respondents"
)

// Scenario 414: what spreadsheets write is read as it is meant, or refused with what to do.
func TestReader_ReadsWhatSpreadsheetsWrite(t *testing.T) {
	t.Parallel()
	own, last := respondents.ResultColumns()
	results := strings.Join(own, ",") + ",ward,attributes.status," + last + "\n1-1,5512345678" + strings.Repeat(",x", len(own)-2) + ",7,new,{}\n"
	late := strings.Repeat("5512345678,x\n", 5000)
	for _, tt := range []struct{ name, file, want string }{
		{"empty columns at the end", "phone,a,,\n5512345678,1,,\n5512345678,2\n", "2 +525512345678 map[a:1]|3 +525512345678 map[a:2]"},
		{"a value without a column", "phone,a,,\n5512345678,1,2,\n", "line 2: has 3 fields; the header has 2"},
		{"commas in quotes", "phone;\"Age, in years, or so,\"\n", "column 2: " + respondents.NameRule},
		{"windows-1252", "phone;name\n5512345678;Jos\xe9 Nu\xf1ez\n", "2 +525512345678 map[name:José Nuñez]"},
		{"windows-1252, late", "phone,name\n" + late + "5512345678,\x80\n", "5002 +525512345678 map[name:€]"},
		{"UTF-8, late", "phone,name\n" + late + "5512345678,é\n", "5002 +525512345678 map[name:é]"},
		{"a workbook", "PK\x03\x04\x14\x00", "save it as CSV UTF-8"},
		{"an old workbook", "\xD0\xCF\x11\xE0\xA1\xB1", "save it as CSV UTF-8"},
		{"results of a survey", results, "2 +525512345678 map[status:new ward:7]"},
	} {
		got, err := readAll(strings.NewReader(tt.file), respondents.CSV, "")
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, "|"); !strings.HasSuffix(strings.TrimSuffix(text, " and send that file"), tt.want) {
			t.Errorf("%s: %s", tt.name, cmp.Diff(tt.want, text[max(0, len(text)-len(tt.want)-50):]))
		}
	}
}

// Scenario 389: a list of another program is read by the names of its columns.
func TestReader_ColumnsAreNamed(t *testing.T) {
	t.Parallel()
	const crm = "Name of person,Mobile,Phone 2,Notes (long),age\nAna,5512345678,x,y,30\n"
	for name, tt := range map[string]struct {
		columns respondents.Columns
		want    string
	}{
		"nothing named":             {respondents.Columns{}, "column 4: " + respondents.NameRule},
		"the phone":                 {respondents.Columns{Phone: "mobile"}, "column 4: " + respondents.NameRule},
		"columns":                   {respondents.Columns{Phone: "Mobile", Only: []string{"Name of Person=name", " age "}}, "+525512345678 map[age:30 name:Ana]"},
		"a name that is none":       {respondents.Columns{Phone: "Mobile", Only: []string{"Notes (long)=notes"}}, "+525512345678 map[notes:y]"},
		"no attributes":             {respondents.Columns{Phone: "Mobile", Only: []string{}}, "+525512345678 map[]"},
		"no phone":                  {respondents.Columns{Only: []string{"age"}}, "the first line must name the columns, one of them phone"},
		"an unknown column":         {respondents.Columns{Phone: "Mobile", Only: []string{"sex"}}, "the file has no column sex"},
		"an unknown phone":          {respondents.Columns{Phone: "cell"}, "the file has no column cell"},
		"one name twice":            {respondents.Columns{Phone: "Mobile", Only: []string{"age=a", "Phone 2=a"}}, "column 5: a is listed twice"},
		"a name of no attribute":    {respondents.Columns{Phone: "Mobile", Only: []string{"age=1"}}, "column 5: " + respondents.NameRule},
		"the name of a field":       {respondents.Columns{Phone: "Mobile", Only: []string{"age=attempt"}}, "column 5: attempt is the name of a template field"},
		"the phone as an attribute": {respondents.Columns{Phone: "Mobile", Only: []string{"age=phone"}}, "column 5: phone is listed twice"},
	} {
		var got string
		in, err := respondents.NewColumnReader(strings.NewReader(crm), respondents.CSV, "", "MX", tt.columns)
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "invalid: ")
		} else if row, err := in.Next(); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(row.Phone, " ", row.Attributes)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	own, last := respondents.ResultColumns()
	results := strings.Join(own, ";") + ";ward;attributes.status;" + last + "\n1-1;'+525512345678" + strings.Repeat(";x", len(own)-2) + ";'=7;new;{}\n"
	for want, columns := range map[string]respondents.Columns{"map[status:new ward:=7]": {}, "map[w:=7]": {Only: []string{"ward=w"}}, "map[arm:x ward:=7]": {Only: []string{"arm", "ward"}}} {
		in, err := respondents.NewColumnReader(strings.NewReader("\ufeff"+results), respondents.CSV, "", "MX", columns)
		if err != nil {
			t.Fatal(err)
		}
		if row, err := in.Next(); err != nil || fmt.Sprint(row.Attributes) != want {
			t.Errorf("%v of results: %v (%v), want %s", columns, row.Attributes, err, want)
		}
	}
}
