package app

import (
	"reflect"
	"strings"

	"github.com/spf13/cobra"
)

// AddFields adds a flag for each member of a body that is a text, a number, a switch or a list of texts. The tag
// flag says, as "NAME: HELP", what a flag is called and how it is described otherwise than the member is in the
// API; each of the two may be empty. A flag of the name that the command has already stays.
func AddFields(c *cobra.Command, body any) {
	v := reflect.ValueOf(body).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, help, _ := strings.Cut(f.Tag.Get("flag"), ": ")
		if name == "" {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			name = strings.ReplaceAll(member, "_", "-")
		}
		if help == "" {
			help, _, _ = strings.Cut(f.Tag.Get("doc"), "; absent")
		}
		if c.Flags().Lookup(name) != nil {
			continue
		}
		switch to := v.Field(i).Addr().Interface().(type) {
		case *string:
			c.Flags().StringVar(to, name, "", help)
		case *[]string:
			c.Flags().StringArrayVar(to, name, nil, help)
		case *int:
			c.Flags().IntVar(to, name, 0, help)
		case *bool:
			c.Flags().BoolVar(to, name, false, help)
		}
	}
}
