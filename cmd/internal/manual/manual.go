// Package manual generates the documentation of a command line from its commands:
// a man page, and a page of Markdown.
//
// # Invariants
//
//   - The same commands give the same bytes, so that a test can detect a stale
//     page: no date, no version, nothing specific to the machine.
package manual

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Paper is the documentation of a command line.
type Paper struct {
	Root *cobra.Command
	// Common are texts that many commands repeat. They are removed from the
	// commands, and appear once in the sections.
	Common   []string
	Sections []Section // after the commands
}

// Section is a section of the documentation.
type Section struct {
	Title string
	Text  string
}

// entry is one command in the documentation.
type entry struct {
	command *cobra.Command
	path    string
	depth   int
	text    string
}

// entries returns the commands in the order in which they are written. Commands
// that cobra adds are left out: a section describes them.
func (p *Paper) entries() []entry {
	var out []entry
	var walk func(c *cobra.Command, depth int)
	walk = func(c *cobra.Command, depth int) {
		for _, child := range c.Commands() {
			if child.Hidden || child.Name() == "help" || child.Name() == "completion" {
				continue
			}
			out = append(out, entry{child, child.CommandPath(), depth, p.text(child)})
			walk(child, depth+1)
		}
	}
	walk(p.Root, 1)
	return out
}

// text returns the description of a command without the common texts.
func (p *Paper) text(c *cobra.Command) string {
	text := cmp.Or(c.Long, c.Short+".")
	for _, common := range p.Common {
		text = strings.ReplaceAll(text, common, "")
	}
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return strings.TrimSpace(text)
}

// usage returns the usage line of a command.
func usage(c *cobra.Command) string {
	line := c.CommandPath() + strings.TrimPrefix(c.Use, c.Name())
	switch {
	case c.HasAvailableSubCommands():
		line += " COMMAND"
	case c.HasAvailableFlags() || c.HasAvailableInheritedFlags():
		line += " [flags]"
	}
	return line
}

// flags calls each for every flag of a command that it does not inherit from its
// parents.
func flags(c *cobra.Command, each func(name, text string)) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		switch {
		case f.NoOptDefVal != "" && f.Value.Type() != "bool":
			name += fmt.Sprintf("[=%s]", kind)
			text += fmt.Sprintf("; without a value %s", f.NoOptDefVal)
		case kind != "":
			name += " " + kind
		}
		if d := f.DefValue; d != "" && d != "0" && d != "false" && d != "[]" && d != "0s" && !strings.Contains(text, "default") {
			text += " (default " + d + ")"
		}
		each(name, text)
	})
}

// paragraphs splits a text at its blank lines; asIs means that the line breaks of a
// paragraph are kept.
func paragraphs(text string, each func(paragraph string, asIs bool)) {
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		each(strings.Trim(part, "\n"), strings.HasPrefix(part, " ") || strings.Contains(part, "\n "))
	}
}
