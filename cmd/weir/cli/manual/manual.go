// Package manual writes the papers of a command line from its commands: a man
// page, and a page of Markdown.
//
// # Invariants
//
//   - The same commands give the same bytes, so that a test can say when a paper
//     is stale: no date, no version, nothing of the machine.
package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Paper is what is written.
type Paper struct {
	Root *cobra.Command
	// Common are texts that many commands repeat. They are left out of the
	// commands, and stand once in the sections.
	Common   []string
	Sections []Section // behind the commands
}

// Section is a part of a paper.
type Section struct {
	Title string
	Text  string
}

// entry is one command as it is written.
type entry struct {
	command *cobra.Command
	path    string
	depth   int
	text    string
}

// entries are the commands in the order in which they are written. Those that
// cobra adds are left out: a section says what there is to say.
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

// text is what a command says of itself alone.
func (p *Paper) text(c *cobra.Command) string {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	for _, common := range p.Common {
		text = strings.ReplaceAll(text, common, "")
	}
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return strings.TrimSpace(text)
}

// usage is the line that says how a command is called.
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

// flags hands over the flags of a command that it does not share with those
// around it.
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

// paragraphs cuts a text at its blank lines; asIs says of one that its lines are
// to stay as they are.
func paragraphs(text string, each func(paragraph string, asIs bool)) {
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		each(strings.Trim(part, "\n"), strings.HasPrefix(part, " ") || strings.Contains(part, "\n "))
	}
}
