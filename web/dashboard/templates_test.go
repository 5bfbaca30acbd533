package dashboard

import (
	"html/template"
	"testing"
)

func TestTemplates_OfEveryPageAreValid(t *testing.T) {
	t.Parallel()
	d, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, parse := range d.templates {
		var set *template.Template
		if set, err = parse(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if set.Lookup("main") == nil {
			t.Errorf("%s does not define main", name)
		}
	}
}
