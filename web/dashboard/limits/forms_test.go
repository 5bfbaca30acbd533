package limits

import (
	"testing"

	"weir/web/dashboard/form"
)

// A member that is new in a body is asked for, or is left out on purpose.
func TestForms_AskForEveryMember(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*form.Declaration{"limit": limitFields(), "price": priceFields()} {
		if mistakes := d.Mistakes(); len(mistakes) > 0 {
			t.Errorf("the form of a %s: %q", name, mistakes)
		}
	}
}
