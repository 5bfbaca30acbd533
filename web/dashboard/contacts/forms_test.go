package contacts

import "testing"

// A member that is new in a body is asked for, or is left out on purpose.
func TestForms_AskForEveryMember(t *testing.T) {
	t.Parallel()
	if mistakes := contactForm().Mistakes(); len(mistakes) > 0 {
		t.Errorf("the form of a contact: %q", mistakes)
	}
}
