// Command manpages writes the man pages of weir and weirlab, a page for each command, into a folder.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"weir/cmd/weir/cli"
	lab "weir/cmd/weirlab/cli"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one folder, got %d arguments", len(args))
	}
	if err := os.MkdirAll(args[0], 0o750); err != nil { //nolint:gosec // the caller names it
		return err
	}
	for _, root := range []*cobra.Command{cli.Root(cli.Options{}), lab.Root(lab.Options{})} {
		keepLines(root)
		if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Weir", Manual: "Weir"}, args[0]); err != nil {
			return err
		}
	}
	return nil
}

// keepLines makes code of what is indented in the descriptions: they are read as Markdown, which would fill lists.
func keepLines(c *cobra.Command) {
	c.DisableAutoGenTag = true
	parts := strings.Split(c.Long, "\n\n")
	for i, part := range parts {
		if strings.HasPrefix(part, " ") || strings.Contains(part, "\n ") {
			parts[i] = "```\n" + part + "\n```"
		}
	}
	c.Long = strings.Join(parts, "\n\n")
	for _, child := range c.Commands() {
		keepLines(child)
	}
}
