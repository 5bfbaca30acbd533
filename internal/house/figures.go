package main

import (
	"fmt"
	"go/types"
	"path"
	"slices"
	"strings"

	"weir/internal/house/words"
)

// The targets of the tree.
const (
	pathFiles      = 35
	spineFiles     = 14
	pathLines      = 2_800
	weirLines      = 66_000
	folderFiles    = 25
	fieldEdits     = 9
	channelEdits   = 2
	methods        = 12
	climbingArrows = 5.0  // percent
	fewComments    = 10.0 // percent
	manyComments   = 14.0
)

// figure is one row of the table.
type figure struct {
	name, measured, target string
	value                  float64
	met                    bool
	detail                 []string // what the figure counts
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(1, whole)) }

func atMost(name string, n, limit int, detail ...string) figure {
	return figure{name: name, value: float64(n), measured: fmt.Sprint(n), target: fmt.Sprintf("≤ %d", limit), met: n <= limit, detail: detail}
}

// part is a part of a contact's path that serves every request and is not needed to follow
// a contact: its name, and patterns of its files.
type part struct {
	name  string
	files []string
}

// classes returns these parts; the first that matches a file counts.
func classes() []part {
	return []part{
		{"limits", []string{"web/auth/limit.go", "web/connections.go"}},
		{"auth", []string{"ops/tokens.go", "web/auth/*.go"}},
		{"JSON", []string{"internal/plainjson/*.go", "web/wire/*.go"}},
		{"transport", []string{"internal/plainhttp/*.go", "internal/deadline/*.go", "channels/provider/*.go", "web/*.go", "web/route/*.go"}},
	}
}

// class returns the class of a file, or "" if it belongs to the spine.
func class(file string) string {
	for _, p := range classes() {
		if slices.ContainsFunc(p.files, func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok }) {
			return p.name
		}
	}
	return ""
}

// pathFigures counts the path of a contact.
func pathFigures(steps []step) []figure {
	byFile := map[string][]string{}
	size := map[string]int{}
	var files, all, spine []string
	lines := 0
	for _, s := range steps {
		if byFile[s.file] == nil {
			files = append(files, s.file)
		}
		byFile[s.file] = append(byFile[s.file], s.name)
		size[s.file] += s.lines()
		lines += s.lines()
	}
	slices.Sort(files)
	for _, f := range files {
		row := fmt.Sprintf("%s (%d): %s", f, size[f], strings.Join(byFile[f], ", "))
		if c := class(f); c != "" {
			row = c + ": " + row
		} else {
			spine = append(spine, row)
		}
		all = append(all, row)
	}
	return []figure{
		atMost("files that one contact executes", len(all), pathFiles, all...),
		atMost("… of these the spine: without auth, JSON, limits, transport", len(spine), spineFiles, spine...),
		atMost("… lines of their executed functions", lines, pathLines),
	}
}

// weirLines counts the production lines of the program weir.
func (t *tree) weirLines() figure {
	n := 0
	for _, f := range t.files {
		if slices.ContainsFunc(t.packages, func(p *pkg) bool { return p.weir && p.folder == f.folder }) {
			n += f.lines
		}
	}
	return atMost("production lines of weir", n, weirLines)
}

// folder is the size of one folder.
type folder struct{ files, lines, comments int }

func (t *tree) folders() map[string]folder {
	folders := map[string]folder{}
	for _, f := range t.files {
		d := folders[f.folder]
		folders[f.folder] = folder{d.files + 1, d.lines + f.lines, d.comments + f.comment}
	}
	return folders
}

// largestFolder counts the files of each folder.
func (t *tree) largestFolder() figure {
	largest := 0
	var above []string
	for name, f := range t.folders() {
		largest = max(largest, f.files)
		if f.files > folderFiles {
			above = append(above, fmt.Sprintf("%3d %s", f.files, name))
		}
	}
	slices.Sort(above)
	return atMost("files in the largest folder", largest, folderFiles, above...)
}

// phrases counts what package words finds.
func (t *tree) phrases() (figure, error) {
	found, err := words.Scan(t.root)
	var rows []string
	for _, f := range found {
		rows = append(rows, fmt.Sprintf("%s:%d: %q in %q", f.Path, f.Line, f.Phrase, f.Text))
	}
	return atMost("phrases and names to be written plainly", len(found), 0, rows...), err
}

// largestInterface counts the methods of every interface with a name.
func (t *tree) largestInterface() figure {
	largest := 0
	var above []string
	for _, p := range t.packages {
		scope := p.types.Scope()
		for _, name := range scope.Names() {
			d, ok := scope.Lookup(name).(*types.TypeName)
			if !ok {
				continue
			}
			if i, ok := d.Type().Underlying().(*types.Interface); ok {
				largest = max(largest, i.NumMethods())
				if i.NumMethods() > methods {
					above = append(above, fmt.Sprintf("%3d %s.%s", i.NumMethods(), p.folder, name))
				}
			}
		}
	}
	slices.Sort(above)
	return atMost("methods of the largest interface", largest, methods, above...)
}

func (t *tree) arrowFigure() figure {
	all, up := 0, 0
	var rows []string
	for _, p := range t.packages {
		a := t.arrows(p)
		all += a.all
		up += len(a.climbing)
		for _, c := range a.climbing {
			rows = append(rows, fmt.Sprintf("%s → %s", c[0], path.Base(c[1])))
		}
	}
	share := percent(up, all)
	return figure{
		name: "arrows between files of a package that climb", value: share, measured: fmt.Sprintf("%d of %d, %.1f %%", up, all, share),
		target: fmt.Sprintf("≤ %.0f %%", climbingArrows), met: share <= climbingArrows, detail: rows,
	}
}

func (t *tree) comments() figure {
	lines, comments := 0, 0
	for _, f := range t.files {
		lines += f.lines
		comments += f.comment
	}
	share := percent(comments, lines)
	return figure{
		name: "comments ÷ lines", value: share, measured: fmt.Sprintf("%.1f %% of %d", share, lines),
		target: fmt.Sprintf("%.0f–%.0f %%", fewComments, manyComments), met: share >= fewComments && share <= manyComments,
	}
}
