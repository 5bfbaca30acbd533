package manual

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the page of Markdown. The common sections come first.
func (p *Paper) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The command line of %s\n\n<!-- Written by \"%[1]s docs markdown\"; do not change it. -->\n\n", p.Root.Name())
	markdownText(&b, p.text(p.Root))
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		markdownText(&b, s.Text)
	}
	b.WriteString("## Commands\n\n")
	entries := p.entries()
	for _, e := range entries {
		if e.depth == 1 {
			fmt.Fprintf(&b, "- [`%s`](#%s): %s\n", e.path, strings.ReplaceAll(e.path, " ", "-"), e.command.Short)
		}
	}
	b.WriteByte('\n')
	for _, e := range entries {
		markdownEntry(&b, e)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func markdownEntry(b *strings.Builder, e entry) {
	fmt.Fprintf(b, "%s %s\n\n```\n%s\n```\n\n", strings.Repeat("#", min(e.depth+1, 4)), e.path, usage(e.command))
	markdownText(b, e.text)
	head := "| flag | |\n|---|---|\n"
	flags(e.command, func(name, text string) {
		fmt.Fprintf(b, "%s| `%s` | %s |\n", head, strings.ReplaceAll(name, "|", `\|`), cell(text))
		head = ""
	})
	if head == "" {
		b.WriteByte('\n')
	}
	if e.command.Example != "" {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", dedented(strings.Trim(e.command.Example, "\n")))
	}
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;").Replace(text)
}

func dedented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// markdownText writes paragraphs: lists and definitions unchanged.
func markdownText(b *strings.Builder, text string) {
	paragraphs(text, func(paragraph string, asIs bool) {
		if !asIs {
			fmt.Fprintf(b, "%s\n\n", strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(paragraph))
			return
		}
		fmt.Fprintf(b, "```\n%s\n```\n\n", paragraph)
	})
}
