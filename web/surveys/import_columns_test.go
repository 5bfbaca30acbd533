package surveys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/surveys/respondents"
	"weir/web/imports"
	surveyapi "weir/web/surveys"
)

// mapped returns what the columns of a file are, or the first mistake.
func mapped(header, phone, columns string) string {
	names, err := respondents.SplitList(header)
	if err != nil {
		return err.Error()
	}
	list, wrong := surveyapi.MapColumns(names, phone, columns)
	if len(wrong) > 0 {
		return strings.TrimPrefix(wrong[0].Pointer, "/columns") + " " + wrong[0].Code + " " + wrong[0].Detail
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = "-"
		if c.Field != "" {
			out[i] = strings.TrimPrefix(c.Field, "attribute.")
		}
	}
	return strings.Join(out, " ")
}

// Scenario 389: a list of another program is read by the names of its columns, or by their numbers.
func TestMapColumns_OfOtherPrograms(t *testing.T) {
	t.Parallel()
	const crm = "Name of person,Mobile,Phone 2,Notes (long),age"
	own, last := respondents.ResultColumns()
	results := strings.Join(own, ",") + ",ward,attributes.status," + last
	ignored := strings.Repeat("- ", len(own)-2)
	many := "phone" + strings.Join(func() (list []string) {
		for i := range 101 {
			list = append(list, fmt.Sprintf(",a%d", i))
		}
		return list
	}(), "")
	for _, c := range []struct{ header, phone, columns, want string }{
		{crm, "", "", "/3 format " + respondents.NameRule},
		{crm, "mobile", "", "/3 format " + respondents.NameRule},
		{crm, "Mobile", "Name of Person=name, age ", "name phone - - age"},
		{crm, "Mobile", "Notes (long)=notes", "- phone - notes -"},
		{crm, "Mobile", "age=", "- phone - - -"},
		{crm, "", "age", " required the first line must name the columns, one of them phone"},
		{crm, "Mobile", "sex", " unknown the file has no column sex"},
		{crm, "cell", "", " unknown the file has no column cell"},
		{crm, "Mobile", "age=a,Phone 2=a", "/2 duplicate a is listed twice"},
		{crm, "Mobile", "age=1", "/4 format " + respondents.NameRule},
		{crm, "Mobile", "age=attempt", "/4 format attempt is the name of a template field"},
		{crm, "Mobile", "age=phone", "/4 duplicate phone is listed twice"},
		{crm, "", "#2=phone,#4=notes,#1=", "- phone - notes -"},
		{crm, "", "#6=phone", " unknown the file has no column #6"},
		{crm, "", "*=", "name_of_person phone phone_2 - age"},
		{"phone,\"Age, in years\"", "", "\"Age, in years=age\"", "phone age"},
		{"phone,\"Age, in years\"", "", "", "/1 format " + respondents.NameRule},
		{"phone,a", "", "\"", " format must be a list of columns, separated by commas: unclosed quote (searched 20 lines)"},
		{"name,age", "", "", " required the first line must name the columns, one of them phone"},
		{"5512345678", "", "", "/0 format " + respondents.NameRule},
		{"phone,First Name,first_name", "", "", "/2 duplicate first_name is listed twice"},
		{"phone,Phone", "", "", "/1 duplicate phone is listed twice"},
		{"phone,respondent", "", "", "/1 format respondent is the name of a template field"},
		{"phone,,a", "", "", "/1 format " + respondents.NameRule},
		{"Weir_Line,phone,weir_column,a,weir_reason", "", "", "- phone - a -"},
		{many, "", "", " length the file has 102 columns; at most 101 are allowed"},
		{"weir_line,weir_column,weir_reason," + many, "", "", " length the file has 105 columns; at most 104 are allowed"},
		{results, "", "", "- phone " + ignored + "ward status -"},
		{results, "", "*=", "- phone " + ignored + "ward status -"},
		{results, "", "ward=w", "- phone " + ignored + "w - -"},
		{results, "", "arm,ward", "- phone " + strings.Replace(ignored, "- - - ", "- - arm ", 1) + "ward - -"},
	} {
		if got := mapped(c.header, c.phone, c.columns); got != c.want {
			t.Errorf("%s as %q, %q: %s, want %s", c.header, c.phone, c.columns, got, c.want)
		}
	}
}

// What is chosen for each column by its number is what it is.
func FuzzMapColumns(f *testing.F) {
	f.Add("phone,First Name", "", "*=")
	f.Add("a,b,c", "a", "#2=x,c=,\"b\"")
	f.Fuzz(func(t *testing.T, header, phone, chosen string) {
		headers, err := respondents.SplitList(header)
		if err != nil {
			return
		}
		columns, wrong := surveyapi.MapColumns(headers, phone, chosen)
		if len(wrong) > 0 {
			return
		}
		numbered := slices.Clone(columns)
		for i := range numbered {
			numbered[i].Field = strings.TrimPrefix(numbered[i].Field, "attribute.")
		}
		again, wrong := surveyapi.MapColumns(headers, "", imports.Choices(numbered))
		if len(wrong) > 0 || !slices.Equal(columns, again) {
			t.Fatalf("%v, then %v %v", columns, again, wrong)
		}
	})
}
