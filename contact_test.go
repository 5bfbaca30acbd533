package weir_test

import (
	"reflect"
	"testing"
	"time"

	"weir"
)

// A field that is added to a spec is either compared or named here: with a key that is in use,
// a client that asks for something else is refused.
func TestSpec_DifferencesCompareEveryField(t *testing.T) {
	t.Parallel()
	others := weir.Spec{
		Key: "k", To: "1", Priority: weir.Normal, Survey: "s", Labels: map[string]string{"a": "b"}, Messages: []string{"m"}, Call: &weir.Call{CallFlowID: 1},
		NotBefore: time.UnixMicro(1), NotAfter: time.UnixMicro(1), Purpose: "p", TimeZone: "UTC", Owner: weir.Owner{ID: 1}, Trace: "t",
	}
	uncompared := map[string]bool{"Key": true, "Owner": true, "Trace": true}
	for i := range reflect.TypeFor[weir.Spec]().NumField() {
		name := reflect.TypeFor[weir.Spec]().Field(i).Name
		var a, b weir.Spec
		value := reflect.ValueOf(others).Field(i)
		if value.IsZero() {
			t.Errorf("%s has no value in this test", name)
			continue
		}
		reflect.ValueOf(&b).Elem().Field(i).Set(value)
		if got := a.Differences(&b); len(got) == 0 != uncompared[name] {
			t.Errorf("specs that differ in %s: differences %q", name, got)
		}
	}
}
