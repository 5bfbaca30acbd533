package docs

import "strings"

// block is a paragraph or a list.
type block struct {
	Text  []span
	Items [][]span
}

// span is a piece of text, possibly in code style.
type span struct {
	Text string
	Code bool
}

// blocks parses the subset of Markdown that the description uses: paragraphs, lists
// and code.
func blocks(text string) []block {
	var out []block
	for part := range strings.SplitSeq(text, "\n\n") {
		var b block
		for line := range strings.Lines(part) {
			if item, ok := strings.CutPrefix(line, "- "); ok {
				b.Items = append(b.Items, spans(item))
			} else {
				b.Text = append(b.Text, spans(line)...)
			}
		}
		if b.Text != nil || b.Items != nil {
			out = append(out, b)
		}
	}
	return out
}

func spans(text string) []span {
	var out []span
	for i, piece := range strings.Split(text, "`") {
		if piece != "" {
			out = append(out, span{piece, i%2 == 1})
		}
	}
	return out
}
