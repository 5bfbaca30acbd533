package resource_test

import (
	"errors"
	"testing"

	"weir"
	"weir/router/label"
	"weir/router/resource"
)

// A failure names its label by a JSON pointer, whatever the label's name has.
func TestPointer_LabelsArePointedAt(t *testing.T) {
	t.Parallel()
	spec := resource.QueueSpec{DistributionPolicyID: "p", Labels: label.Set{"a/b~c": label.Value{}}}
	err := spec.Validate("q", func(resource.Kind, string) bool { return true })
	var e *weir.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Pointer != "/labels/a~1b~0c" {
		t.Errorf("%+v (%v)", e, err)
	}
}
