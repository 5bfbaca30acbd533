// Command house measures the tree against its own targets and prints a table: a figure,
// its target, and whether it is met. "make house" runs it. It needs the go command and no
// network.
//
// # Definitions
//
// Production code is every Go file that is neither a test nor generated; testdata is left
// out. The program weir is the packages that cmd/weir imports, directly or not, without
// the laboratory (cmd/weirlab, benchmarks, demonstration, simulated providers) and what
// only the laboratory imports. Lines are all lines of a file.
//
//   - Path of a contact: the functions that one text message executes from its request
//     until it is done and in its row. A broker on SQLite is built with counters, a
//     simulated provider runs in another process. A block of code counts if each of three
//     contacts executes it more often than any idle period of the same length; so pollers
//     do not count, nor does what only the first contact does. The lines are those of whole
//     functions. The spine is the path without the classes of [classes].
//   - Largest folder: files of production code.
//   - New contact field: the files that mention an existing field which is stored and
//     shown but decides nothing, in the domain, the store, the API, the pages and the
//     command line, and one migration for each dialect. See [fieldFiles].
//   - New channel type: the files outside its folder that mention every channel type with a
//     simulator. See [channelFiles].
//   - Words: see package words.
//   - Largest interface: methods, those of embedded interfaces included.
//   - Arrows: an arrow runs from a file to another file of the same package that declares a
//     function, method, type, variable or constant it uses. The files are put in the order
//     in which the fewest arrows climb, found by a heuristic; an arrow climbs if it leads
//     from a later file to an earlier one. Without cycles none does.
//   - Comments: lines that hold nothing but a comment, divided by all lines of production
//     code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"weir/internal/house/packages"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	path := flag.Bool("path", true, "trace the path of a contact, which takes half a minute")
	verbose := flag.Bool("v", false, "list the files and names behind the figures")
	table := flag.Bool("packages", false, "print the table of packages for docs/packages.md instead")
	rest := flag.Bool("beside", false, "print the files of the path that the table in ARCHITECTURE.md leaves out instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case *table:
		err = printPackages(os.Stdout, *root)
	case *rest:
		err = printBeside(ctx, os.Stdout, *root)
	default:
		err = run(ctx, os.Stdout, *root, *path, *verbose)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printPackages(out io.Writer, root string) error {
	text, err := packages.Table(root)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// printBeside prints the files that a contact executes beside those of the table and of
// the classes, as a list for ARCHITECTURE.md.
func printBeside(ctx context.Context, out io.Writer, root string) error {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md")) //nolint:gosec // a file of the tree
	if err != nil {
		return err
	}
	t, err := load(ctx, root)
	if err != nil {
		return err
	}
	steps, err := t.trace(ctx)
	if err != nil {
		return err
	}
	rows, _ := documented(string(text))
	_, err = io.WriteString(out, beside(steps.path, rows))
	return err
}

func run(ctx context.Context, out io.Writer, root string, path, verbose bool) error {
	t, err := load(ctx, root)
	if err != nil {
		return err
	}
	var rows []figure
	if path {
		steps, err := t.trace(ctx)
		if err != nil {
			return err
		}
		rows = pathFigures(steps.path)
	}
	static, err := t.figures()
	if err != nil {
		return err
	}
	return errors.Join(table(out, append(rows, static...), verbose), t.packageTable(out))
}

// figures measures what can be read from the tree.
func (t *tree) figures() ([]figure, error) {
	said, err := t.phrases()
	rows := append([]figure{t.weirLines(), t.largestFolder()}, t.fieldFigures()...)
	return append(rows, t.channelFigure(), said, t.largestInterface(), t.arrowFigure(), t.comments()), err
}

// table prints the figures.
func table(out io.Writer, rows []figure, verbose bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FIGURE\tMEASURED\tTARGET\tMET")
	for _, r := range rows {
		met := "no"
		if r.met {
			met = "yes"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.name, r.measured, r.target, met)
	}
	if err := w.Flush(); err != nil || !verbose {
		return err
	}
	for _, r := range rows {
		if len(r.detail) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "\n%s:\n", r.name)
		for _, d := range r.detail {
			_, _ = fmt.Fprintln(out, "  "+d)
		}
	}
	return nil
}

// packageTable prints size, comments and arrows of each package.
func (t *tree) packageTable(out io.Writer) error {
	folders := t.folders()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\nfiles\tlines\tcomments\tarrows up\t  package\t")
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, up := folders[name], ""
		for _, p := range t.packages {
			if p.folder == name {
				if a := t.arrows(p); len(a.climbing) > 0 {
					up = fmt.Sprintf("%d of %d", len(a.climbing), a.all)
				}
			}
		}
		_, _ = fmt.Fprintf(w, "%d\t%d\t%.1f %%\t%s\t  %s\t\n", f.files, f.lines, percent(f.comments, f.lines), up, name)
	}
	return w.Flush()
}
