package surveys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir"
	"weir/surveys"
)

func TestBreakdowns_PlacesIgnoreCaseAndSpace(t *testing.T) {
	t.Parallel()
	b := surveys.Breakdowns{{Attribute: "region", Values: []string{"north", " Évora "}}, {Attribute: "sex", Values: []string{"f"}}}
	for _, c := range []struct {
		region string
		want   int
	}{{"north", 1}, {" NORTH\t", 1}, {"évora", 2}, {"ÉVORA ", 2}, {"evora", surveys.OtherValue}, {"northern", surveys.OtherValue}, {" ", surveys.NoValue}} {
		if got := b.Places(map[string]string{"region": c.region}); !slices.Equal(got, []int{c.want, surveys.NoValue}) {
			t.Errorf("%q: %v, want %d", c.region, got, c.want)
		}
	}
	if got := b.Places(nil); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("without attributes: %v", got)
	}
}

func TestBreakdowns_MistakesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	of := func(attribute string, values ...string) surveys.Breakdown {
		return surveys.Breakdown{Attribute: attribute, Values: values}
	}
	many := slices.Repeat([]surveys.Breakdown{of("a", "1")}, 6)
	var values []string
	for i := range 51 {
		values = append(values, fmt.Sprint(i))
	}
	for _, c := range []struct {
		is   []surveys.Breakdown
		want string
	}{
		{[]surveys.Breakdown{of("region", "north", "south"), of("age", values[:50]...)}, ""},
		{many, "/breakdowns length"},
		{[]surveys.Breakdown{of("Region", "a")}, "/breakdowns/0/attribute format"},
		{[]surveys.Breakdown{of("phone", "a")}, "/breakdowns/0/attribute reserved"},
		{[]surveys.Breakdown{of("a", "x"), of("a", "y")}, "/breakdowns/1/attribute duplicate"},
		{[]surveys.Breakdown{of("a")}, "/breakdowns/0/values length"},
		{[]surveys.Breakdown{of("a", values...)}, "/breakdowns/0/values length"},
		{[]surveys.Breakdown{of("a", "x", " "), of("b", strings.Repeat("x", 101))}, "/breakdowns/0/values/1 length, /breakdowns/1/values/0 length"},
		{[]surveys.Breakdown{of("a", "x", "y", " X")}, "/breakdowns/0/values/2 duplicate"},
	} {
		_, wrong := surveys.Definition{Breakdowns: c.is}.Compile(surveys.Defaults{})
		var got []string
		for _, f := range wrong {
			if strings.HasPrefix(f.Pointer, "/breakdowns") && f.Code != "conflict" {
				got = append(got, f.Pointer+" "+f.Code)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%v: %q, want %q", c.is, got, c.want)
		}
	}
	_, wrong := surveys.Definition{Breakdowns: []surveys.Breakdown{of("a", "x")}}.Compile(surveys.Defaults{})
	if !slices.ContainsFunc(wrong, func(f weir.FieldError) bool { return f.Pointer == "/breakdowns" && f.Code == "conflict" }) {
		t.Errorf("without questions: %+v", wrong)
	}
}
