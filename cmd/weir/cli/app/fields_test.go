package app

import (
	"reflect"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/api"
)

// TestFields_EveryMemberHasAFlag: a new member of a document can be set at once; one of another kind is named here.
func TestFields_EveryMemberHasAFlag(t *testing.T) {
	t.Parallel()
	for _, body := range []any{&api.Limit{}} {
		c := &cobra.Command{}
		AddFields(c, body)
		flags := 0
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if flags++; f.Usage == "" {
				t.Errorf("%T: --%s is not explained", body, f.Name)
			}
		})
		if of := reflect.TypeOf(body).Elem(); flags != of.NumField() {
			t.Errorf("%s has %d members, and the command %d flags", of, of.NumField(), flags)
		}
	}
}
