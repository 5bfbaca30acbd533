package config

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kelseyhightower/envconfig"
)

// text returns a variable's value in the form that Decode parses.
func (v variable) text() string { return fmt.Sprint(v.field.Interface()) }

// Print writes every variable with its value and its origin. Secrets are
// redacted.
func (c *Config) Print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tab, "VARIABLE\tVALUE\tFROM")
	for _, v := range variables(c) {
		value := v.text()
		if v.isSecretURL() {
			value = Redact(value)
		}
		_, _ = fmt.Fprintf(tab, "%s\t%s\t%s\n", v.name, value, c.origins[v.name])
	}
	return tab.Flush()
}

// markdown is the template of the table in docs/configuration.md; envconfig walks the struct.
const markdown = `| variable | default | allowed | |
|---|---|---|---|
{{range .}}| ` + "`{{usage_key .}}`{{if .Tags.Get `secret`}}, `{{usage_key .}}_FILE`{{end}} | {{with usage_default .}}`{{.}}`{{end}}" + ` | {{.Tags.Get "allowed"}} | {{usage_description .}} |
{{end}}`

// Markdown writes the table of variables for the documentation.
func Markdown(w io.Writer) error {
	return envconfig.Usagef("", &Config{}, w, markdown)
}
