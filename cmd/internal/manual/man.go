package manual

import (
	"fmt"
	"io"
	"strings"
)

// Man writes the man page, in roff.
func (p *Paper) Man(w io.Writer) error {
	var b strings.Builder
	name := p.Root.Name()
	fmt.Fprintf(&b, ".\\\" Written by \"%s docs man\"; do not change it.\n.TH %s 1 \"\" \"Weir\" \"User Commands\"\n", name, strings.ToUpper(name))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, roff(strings.ToLower(p.Root.Short[:1])+p.Root.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIflags\\fR]\n", name)
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, p.text(p.Root))
	b.WriteString(".SH COMMANDS\n")
	for _, e := range p.entries() {
		manEntry(&b, e)
	}
	for _, s := range p.Sections {
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(s.Title)))
		manText(&b, s.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func manEntry(b *strings.Builder, e entry) {
	fmt.Fprintf(b, ".SS %s\n.nf\n\\fB%s\\fR\n.fi\n", roff(e.path), roff(usage(e.command)))
	manText(b, e.text)
	flags(e.command, func(name, text string) {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(name), roff(text))
	})
	if e.command.Example != "" {
		b.WriteString(".PP\n.nf\n")
		b.WriteString(roff(strings.Trim(e.command.Example, "\n")))
		b.WriteString("\n.fi\n")
	}
}

// manText writes paragraphs: lists unchanged, all others filled.
func manText(b *strings.Builder, text string) {
	paragraphs(text, func(paragraph string, asIs bool) {
		if asIs {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
		} else {
			fmt.Fprintf(b, ".PP\n%s\n", roff(paragraph))
		}
	})
}

// roff escapes a text: backslashes, literal hyphens, non-ASCII characters, and dots
// and quotes that would begin a request.
func roff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
