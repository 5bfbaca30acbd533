package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/router/label"
	"weir/router/resource"
)

func TestSelector_ParseSelectors(t *testing.T) {
	t.Parallel()
	where := func(key string, op label.Operator, v label.Value) resource.WorkerSelector {
		return resource.WorkerSelector{Key: key, Operator: op, Value: v}
	}
	got, err := resource.ParseSelectors(`English, gender=M ,level>=3,zone!="7",vip=false,age<30`)
	if err != nil {
		t.Fatal(err)
	}
	want := []resource.WorkerSelector{
		where("English", label.Equal, label.Bool(true)), where("gender", label.Equal, label.Text("M")), where("level", label.GreaterOrEqual, label.Number(3)),
		where("zone", label.NotEqual, label.Text("7")), where("vip", label.Equal, label.Bool(false)), where("age", label.LessThan, label.Number(30)),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b label.Value) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "a,,b", "=x", "a=", "a<high", "a>true", "a!b"} {
		if got, err := resource.ParseSelectors(bad); weir.CodeOf(err) != weir.CodeInvalid {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}
