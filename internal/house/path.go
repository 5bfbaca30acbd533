package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// documented returns the functions that the table names by file, and every file that the
// table or the list below it names.
func documented(text string) (rows map[string][]string, files []string) {
	_, section, _ := strings.Cut(text, "\n## The path of a contact")
	section, _, _ = strings.Cut(section, "\n## ")
	link, name := regexp.MustCompile(`\]\(([a-z_/]+\.go)\)`), regexp.MustCompile("`([A-Za-z]+)`")
	listed := regexp.MustCompile("^- (the root|`([a-z/]+)`): (.*)$")
	rows = map[string][]string{}
	for _, line := range strings.Split(section, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			if m := link.FindStringSubmatch(cells[2]); m != nil {
				files, rows[m[1]] = append(files, m[1]), nil
				for _, n := range name.FindAllStringSubmatch(cells[3], -1) {
					rows[m[1]] = append(rows[m[1]], n[1])
				}
			}
		}
		if m := listed.FindStringSubmatch(line); m != nil {
			for _, base := range strings.Split(m[3], ", ") {
				files = append(files, path.Join(m[2], base))
			}
		}
	}
	return rows, files
}

// beside lists, folder by folder, the files of a path that are neither in the table nor in
// a class.
func beside(steps []step, rows map[string][]string) string {
	files := map[string][]string{}
	var folders []string
	for _, s := range steps {
		if _, ok := rows[s.file]; ok || class(s.file) != "" {
			continue
		}
		folder := path.Dir(s.file)
		if files[folder] == nil {
			folders = append(folders, folder)
		}
		if base := path.Base(s.file); !slices.Contains(files[folder], base) {
			files[folder] = append(files[folder], base)
		}
	}
	slices.Sort(folders)
	var out strings.Builder
	for _, f := range folders {
		slices.Sort(files[f])
		name := "`" + f + "`"
		if f == "." {
			name = "the root"
		}
		_, _ = fmt.Fprintf(&out, "- %s: %s\n", name, strings.Join(files[f], ", "))
	}
	return out.String()
}
