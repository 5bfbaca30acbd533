package routing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/routing"
)

func TestParseSelectors(t *testing.T) {
	t.Parallel()
	got, err := routing.ParseSelectors(`English, gender=M ,level>=3,zone!="7",vip=false,age<30`)
	if err != nil {
		t.Fatal(err)
	}
	want := []routing.WorkerSelector{
		is("English"), where("gender", routing.Equal, routing.Text("M")), where("level", routing.GreaterOrEqual, routing.Number(3)),
		where("zone", routing.NotEqual, routing.Text("7")), where("vip", routing.Equal, routing.Bool(false)), where("age", routing.LessThan, routing.Number(30)),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b routing.Value) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "a,,b", "=x", "a=", "a<high", "a>true", "a!b"} {
		if got, err := routing.ParseSelectors(bad); weir.CodeOf(err) != weir.CodeInvalid {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}
