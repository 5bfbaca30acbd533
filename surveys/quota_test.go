package surveys_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/surveys"
)

func number(f float64) *float64 { return &f }

func in(values ...string) surveys.Match { return surveys.Match{In: values} }

func between(from, to float64) surveys.Match {
	return surveys.Match{From: number(from), To: number(to)}
}

func quotas() surveys.Quotas {
	return surveys.Quotas{
		{Where: map[string]surveys.Match{"gender": in("f"), "age": between(18, 29)}, Quota: 2},
		{Where: map[string]surveys.Match{"gender": in("f"), "age": {From: number(30)}}, Quota: 1},
		{Where: map[string]surveys.Match{"gender": in("m", "male")}, Quota: 1},
	}
}

func TestQuota_FindsTheBucketOfARespondent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attributes map[string]string
		want       int
	}{
		{map[string]string{"gender": "f", "age": "18"}, 0},
		{map[string]string{"gender": " F ", "age": "29"}, 0},
		{map[string]string{"gender": "f", "age": "29.5"}, surveys.NoBucket},
		{map[string]string{"gender": "f", "age": "99"}, 1},
		{map[string]string{"gender": "Male"}, 2},
		{map[string]string{"gender": "f"}, surveys.NoBucket},
		{map[string]string{"gender": "f", "age": "NaN"}, surveys.NoBucket},
		{map[string]string{"gender": "f", "age": "young"}, surveys.NoBucket},
		{nil, surveys.NoBucket},
	} {
		if got := quotas().Of(tt.attributes); got != tt.want {
			t.Errorf("%v falls into bucket %d, want %d", tt.attributes, got, tt.want)
		}
	}
}

// Scenario 79: a survey with a full bucket continues; with all buckets full it does not.
func TestQuota_IsReachedWhenAllBucketsAreFull(t *testing.T) {
	t.Parallel()
	q := quotas()
	for _, tt := range []struct {
		counts  []int
		full    []bool
		reached bool
		done    int
	}{
		{nil, []bool{false, false, false}, false, 0},
		{[]int{2}, []bool{true, false, false}, false, 2},
		{[]int{9, 1, 0}, []bool{true, true, false}, false, 3},
		{[]int{2, 1, 1}, []bool{true, true, true}, true, 4},
	} {
		for i, want := range tt.full {
			if got := q.Full(tt.counts, i); got != want {
				t.Errorf("with %v bucket %d is full: %v", tt.counts, i, got)
			}
		}
		if q.Reached(tt.counts) != tt.reached || q.Done(tt.counts) != tt.done {
			t.Errorf("with %v: reached %v, done %d", tt.counts, q.Reached(tt.counts), q.Done(tt.counts))
		}
	}
	if q.Full(nil, surveys.NoBucket) || q.Sum() != 4 || (surveys.Quotas{}).Reached(nil) {
		t.Error("no bucket is full, or no buckets are reached")
	}
}

func TestQuota_InvalidOneIsRefused(t *testing.T) {
	t.Parallel()
	where := func(name string, m surveys.Match) map[string]surveys.Match {
		return map[string]surveys.Match{name: m}
	}
	for _, tt := range []struct {
		name string
		q    surveys.Quotas
		want []string
	}{
		{"good", quotas(), nil},
		{"nothing wanted", surveys.Quotas{{Where: where("a", in("x"))}}, []string{"/quotas range"}},
		{"no condition", surveys.Quotas{{Quota: 1}, {Where: where("a", surveys.Match{}), Quota: 1}}, []string{"/quotas/0/where required", "/quotas/1/where/a required"}},
		{"both kinds", surveys.Quotas{{Where: where("a", surveys.Match{In: []string{"1"}, From: number(1)}), Quota: 1}}, []string{"/quotas/0/where/a format"}},
		{"upside down", surveys.Quotas{{Where: where("a", between(2, 1)), Quota: 1}}, []string{"/quotas/0/where/a range"}},
		{"overlap of texts", surveys.Quotas{{Where: where("a", in("x", "y")), Quota: 1}, {Where: where("a", in("z", "Y")), Quota: 1}}, []string{"/quotas/1 overlap"}},
		{"overlap of ranges", surveys.Quotas{{Where: where("a", between(1, 5)), Quota: 1}, {Where: where("a", surveys.Match{To: number(1)}), Quota: 1}}, []string{"/quotas/1 overlap"}},
		{"overlap of text and range", surveys.Quotas{{Where: where("a", in("3")), Quota: 1}, {Where: where("a", between(1, 5)), Quota: 1}}, []string{"/quotas/1 overlap"}},
		{"different attributes", surveys.Quotas{{Where: where("a", in("3")), Quota: 1}, {Where: where("b", in("3")), Quota: 1}}, []string{"/quotas/1 overlap"}},
	} {
		d := definition()
		d.Quotas = tt.q
		_, wrong := d.Compile(defaults())
		if diff := cmp.Diff(tt.want, codes(wrong)); diff != "" {
			t.Errorf("%s: %s\n%v", tt.name, diff, wrong)
		}
	}
	wrong := quotas().CheckKnown([]string{"gender", "region"})
	if diff := cmp.Diff([]string{"/0/where/age unknown", "/1/where/age unknown"}, codesOnly(codes(wrong))); diff != "" {
		t.Errorf("%s\n%v", diff, wrong)
	}
}

func codesOnly(codes []string) []string {
	out := make([]string, len(codes))
	for i, c := range codes {
		out[i] = c[len("/quotas"):]
	}
	return out
}

// A respondent belongs to at most one bucket.
func TestQuota_AcceptedBucketsAreDisjoint(t *testing.T) {
	t.Parallel()
	match := rapid.Custom(func(t *rapid.T) surveys.Match {
		if rapid.Bool().Draw(t, "texts") {
			return in(rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "3", "x", "X", "y"}), 1, 3).Draw(t, "in")...)
		}
		from := rapid.IntRange(0, 4).Draw(t, "from")
		return between(float64(from), float64(from+rapid.IntRange(0, 2).Draw(t, "width")))
	})
	rapid.Check(t, func(t *rapid.T) {
		var q surveys.Quotas
		for range rapid.IntRange(1, 4).Draw(t, "buckets") {
			q = append(q, surveys.Bucket{Quota: 1, Where: rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), match, 1, 2).Draw(t, "where")})
		}
		d := definition()
		d.Quotas = q
		if _, wrong := d.Compile(defaults()); len(wrong) > 0 {
			return
		}
		attributes := rapid.MapOf(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"0", "1", "2", "3", "4", "x", "Y"})).Draw(t, "attributes")
		first := q.Of(attributes)
		if first < 0 {
			return
		}
		if second := q[first+1:].Of(attributes); second >= 0 {
			buckets, _ := json.Marshal([]surveys.Bucket{q[first], q[first+1+second]})
			t.Fatalf("%v falls into two buckets: %s", attributes, buckets)
		}
	})
}
