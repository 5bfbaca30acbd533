package cli_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"weir/cmd/weir/cli"
	lab "weir/cmd/weirlab/cli"
)

const repository = "../../.."

// Every command and flag that is named in output, help, documentation or deployment files exists.
func TestCommands_NamedCommandsExist(t *testing.T) {
	t.Parallel()
	roots := map[string]*cobra.Command{"weir": cli.Root(cli.Options{}), "weirlab": lab.Root(lab.Options{})}
	seen := map[string]int{}
	for program, root := range roots {
		root.InitDefaultCompletionCmd("bash")
		for _, file := range texts(t) {
			for _, text := range commandTexts(t, file) {
				for _, line := range invocations(program, text) {
					seen[program]++
					if wrong := resolve(root, line); wrong != "" {
						t.Errorf("%s: %s %q: %s", strings.TrimPrefix(file, repository+"/"), program, line, wrong)
					}
				}
			}
		}
	}
	if seen["weir"] < 200 || seen["weirlab"] < 30 {
		t.Errorf("found %v command lines; the search is broken", seen)
	}
}

// The page about the command line, which a person wrote, leaves out no command.
func TestCommands_PageNamesEveryCommand(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repository + "/docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		named := regexp.MustCompile(regexp.QuoteMeta(c.CommandPath()) + "[ \n`]")
		if !c.HasSubCommands() && !c.Hidden && c.Name() != "version" && !named.Match(page) {
			t.Errorf("docs/cli.md does not name %q", c.CommandPath())
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(cli.Root(cli.Options{}))
}

// Commands whose names imply a change that cannot be undone ask for confirmation, all in the same way.
func TestCommands_IrreversibleCommandsAsk(t *testing.T) {
	t.Parallel()
	verbs := []string{"cancel", "decide", "delete", "discard", "down", "erase", "remove", "requeue", "revoke", "stop"}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		yes := c.Flags().Lookup("yes")
		if slices.Contains(verbs, c.Name()) != (yes != nil) || yes != nil && yes.Usage != "do not ask for confirmation" {
			t.Errorf("%s: --yes is %v", c.CommandPath(), yes)
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(cli.Root(cli.Options{}))
}

// texts returns the files of the repository that name commands.
func texts(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "bin"}, name)):
			return filepath.SkipDir
		case !d.IsDir() && !strings.HasSuffix(name, "_test.go") && name != "CHANGELOG.md" &&
			slices.Contains([]string{".go", ".md", ".html", ".yaml", ".yml", ".sh", ".service", ".1"}, filepath.Ext(name)):
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// commandTexts returns the parts of a file that may name a command: string literals
// of Go, code in Markdown, and the whole text of other files.
func commandTexts(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(file) {
	case ".go":
		return literals(text)
	case ".md":
		return regexp.MustCompile("(?s)```.*?```|`[^`\n]+`").FindAllString(string(text), -1)
	default:
		return []string{string(text)}
	}
}

func literals(source []byte) []string {
	var out []string
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(source)), source, nil, 0)
	for {
		_, kind, text := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind == token.STRING {
			if plain, err := strconv.Unquote(text); err == nil {
				out = append(out, plain)
			}
		}
	}
}

// invocations returns the command lines in a text: what follows the program's name on a line.
func invocations(program, text string) []string {
	var out []string
	text = strings.ReplaceAll(text, "\\\n", " ")
	for _, m := range regexp.MustCompile(`(?:^|[\s"'(/`+"`"+`])`+program+` ([a-z]+[^"|#;`+"`"+`\n)&>]*)`).FindAllStringSubmatch(text, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	return out
}

// resolve returns the part of a command line that does not exist; empty: all of it exists.
func resolve(root *cobra.Command, line string) string {
	words := strings.Fields(strings.ReplaceAll(line, ":", " "))
	if slices.Contains([]string{"is", "prometheus"}, words[0]) { // a sentence about the program, a list of services
		return ""
	}
	c, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if c == root || c.HasSubCommands() && len(rest) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(rest[0]) {
		return "no such command"
	}
	for _, word := range rest {
		name, ok := strings.CutPrefix(word, "--")
		name = regexp.MustCompile(`^[a-z0-9-]*`).FindString(name)
		if ok && name != "" && name != "help" && c.Flags().Lookup(name) == nil && c.InheritedFlags().Lookup(name) == nil {
			return "no flag --" + name
		}
	}
	return ""
}
