package respondents_test

import (
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
