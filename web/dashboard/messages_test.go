package dashboard

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"
	"time"

	"weir/channels"
	"weir/channels/all"
	"weir/router/routertest"
	channelpages "weir/web/dashboard/channels"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// Every message of the program is in the catalog of each language, with the same verbs and tags, and
// no catalog has a message that the program no longer has.
func TestMessages_AreInEveryLanguage(t *testing.T) {
	t.Parallel()
	used := messagesOfGo(t)
	maps.Copy(used, messagesOfTemplates(t, templatesOf(t)))
	maps.Copy(used, sentencesOfWhy(t))
	maps.Copy(used, wordsOfChannelTypes())
	if len(used) < 50 {
		t.Fatalf("only %d messages were found: %v", len(used), used)
	}
	for _, l := range locale.New().List() {
		texts, err := locale.Translations(l.Code)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Sorted(maps.Keys(used)) {
			forms, known := texts[m]
			if n := numbers.FindString(string(m)); n != "" && !strings.HasPrefix(n, "+1555") {
				t.Errorf("%s: %q names a number, which may be a stranger's", used[m], m)
			}
			switch {
			case !known && l.Code == "en" && !strings.Contains(string(m), "%d"):
			case !known:
				t.Errorf("%s: %s has no translation of %q", used[m], l.Code, m)
			default:
				for _, text := range forms {
					checkForm(t, l.Code, string(m), text)
				}
			}
		}
		for m := range texts {
			if used[m] == "" {
				t.Errorf("%s translates %q, which is nowhere", l.Code, m)
			}
		}
	}
}

var (
	verbs = regexp.MustCompile(`%(?:\[(\d)\])?([a-z%])`)
	tags  = regexp.MustCompile(`</?[a-z][^>]*>`)
	// fields are those of the sentences of why something waits.
	fields = regexp.MustCompile(`\{[a-z_]+\}`)
	// numbers are phone numbers; +1 555 01xx is nobody's.
	numbers = regexp.MustCompile(`\+\d{7,}`)
)

// checkForm checks that a translation takes the same arguments as the message, and has its tags.
func checkForm(t *testing.T, code, message, text string) {
	t.Helper()
	if want, got := verbsOf(message), verbsOf(text); !slices.Equal(want, got) {
		t.Errorf("%s: %q has the verbs %v, its message %q has %v", code, text, got, message, want)
	}
	want, got := fields.FindAllString(message, -1), fields.FindAllString(text, -1)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%s: %q has the fields %v, its message %q has %v", code, text, got, message, want)
	}
	want, got = tags.FindAllString(message, -1), tags.FindAllString(text, -1)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%s: %q has the tags %v, its message %q has %v", code, text, got, message, want)
	}
	if strings.TrimSpace(text) == "" && strings.TrimSpace(message) != "" || text != strings.TrimRight(text, " ") && message == strings.TrimRight(message, " ") {
		t.Errorf("%s: %q for %q", code, text, message)
	}
}

// verbsOf lists the verbs of a message by the argument that they take.
func verbsOf(text string) []string {
	var list []string
	next := '1'
	for _, m := range verbs.FindAllStringSubmatch(text, -1) {
		switch {
		case m[2] == "%":
		case m[1] != "":
			list, next = append(list, m[1]+m[2]), rune(m[1][0])+1
		default:
			list, next = append(list, string(next)+m[2]), next+1
		}
	}
	slices.Sort(list)
	return list
}

// messagesOfGo finds constant messages in the source, and where they are: what is of type
// [locale.Message], and what T and HTML are called with.
func messagesOfGo(t *testing.T) map[locale.Message]string {
	t.Helper()
	found := map[locale.Message]string{}
	known := stubs{}
	for _, dir := range []string{"locale", "display", "form", "questionnaire", "page", "files", "why", "choices", "limits", "channels", "router", "access", "people", "contacts", "surveys", "."} {
		files := token.NewFileSet()
		list := sourceOf(t, files, dir)
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		// Packages from elsewhere are empty here, so that nothing has to be compiled. What depends on them has no
		// type, and is no message.
		config := types.Config{Importer: known, Error: func(error) {}}
		path := strings.TrimSuffix("weir/web/dashboard/"+dir, "/.")
		known[path], _ = config.Check(path, files, list, info)
		for _, file := range list {
			ast.Inspect(file, func(n ast.Node) bool {
				call, isCall := n.(*ast.CallExpr)
				if isCall {
					if of, ok := call.Fun.(*ast.SelectorExpr); ok && (of.Sel.Name == "T" || of.Sel.Name == "HTML") && len(call.Args) > 0 {
						if v := constantOf(info, call.Args[0]); v != "" {
							found[locale.Message(v)] = files.Position(n.Pos()).String()
						}
					}
				}
				e, isExpr := n.(ast.Expr)
				if !isExpr {
					return true
				}
				tv := info.Types[e]
				if named, ok := tv.Type.(*types.Named); ok && named.Obj().Name() == "Message" && tv.Value != nil && constant.StringVal(tv.Value) != "" {
					found[locale.Message(constant.StringVal(tv.Value))] = files.Position(n.Pos()).String()
					return false // and not the parts of a sum
				}
				return true
			})
		}
	}
	return found
}

// wordsOfChannelTypes returns what the pages say about the channel types that come with the program: summaries, steps of
// their set-up, labels and help of their settings.
func wordsOfChannelTypes() map[locale.Message]string {
	found := map[locale.Message]string{}
	sentence := func(typ, text string) { found[locale.Message(display.Sentence(text))] = "channel type " + typ }
	label := func(typ, key string) {
		found[locale.Message(channelpages.SettingLabel(key))] = "a setting of channel type " + typ
	}
	types := all.Types(routertest.New(time.Now))
	types = append(types, channels.Type{Name: "of every kind", Settings: channels.CommonSettings()})
	for i := range types {
		typ := &types[i]
		summaries, steps := []string{typ.Summary}, typ.SetUp
		for j := range typ.Settings {
			label(typ.Name, typ.Settings[j].Key)
			sentence(typ.Name, typ.Settings[j].Help)
		}
		for _, p := range typ.Callbacks {
			found[locale.Message(p.ByHand)] = "a callback of channel type " + typ.Name
		}
		for j := range typ.Templates {
			offer := &typ.Templates[j]
			summaries, steps = append(summaries, offer.Summary), append(steps, offer.SetUp...)
			for _, key := range slices.Concat(offer.Values, offer.Secrets) {
				label(typ.Name, key)
			}
		}
		for _, s := range slices.Concat(summaries, steps) {
			sentence(typ.Name, s)
		}
	}
	delete(found, "")
	return found
}

// sentencesOfWhy finds the constants of type [operators.Sentence] and, of receipts, [people.Sentence], and where they are.
func sentencesOfWhy(t *testing.T) map[locale.Message]string {
	t.Helper()
	found := map[locale.Message]string{}
	files := token.NewFileSet()
	for _, file := range slices.Concat(sourceOf(t, files, "../../operators"), sourceOf(t, files, "../../people")) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if named, ok := spec.Type.(*ast.Ident); !ok || named.Name != "Sentence" {
				return true
			}
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[locale.Message(text)] = files.Position(n.Pos()).String()
			return true
		})
	}
	if len(found) == 0 {
		t.Fatal("no sentence was found")
	}
	return found
}

// constantOf returns a text that is written in the source, in one piece or added up; empty: it is none.
func constantOf(info *types.Info, e ast.Expr) string {
	if tv := info.Types[e]; tv.Value != nil && tv.Value.Kind() == constant.String {
		return constant.StringVal(tv.Value)
	}
	return ""
}

func sourceOf(t *testing.T, files *token.FileSet, dir string) (list []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file)
	}
	return list
}

// stubs imports the packages that were checked, and empty ones for others.
type stubs map[string]*types.Package

func (s stubs) Import(path string) (*types.Package, error) {
	if s[path] == nil {
		s[path] = types.NewPackage(path, regexp.MustCompile(`(?:/v\d+)?$`).ReplaceAllString(path, "")[strings.LastIndex(path, "/")+1:])
		s[path].MarkComplete()
	}
	return s[path], nil
}

// messagesOfTemplates finds the constant messages of the functions t and markup, and where they are.
func messagesOfTemplates(t *testing.T, pages page.Templates) map[locale.Message]string {
	t.Helper()
	found := map[locale.Message]string{}
	for name, load := range pages {
		set, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range set.Templates() {
			if one.Tree != nil {
				walkTemplate(one.Tree.Root, func(c *parse.CommandNode) {
					if len(c.Args) < 2 {
						return
					}
					id, isFunction := c.Args[0].(*parse.IdentifierNode)
					text, isText := c.Args[1].(*parse.StringNode)
					if isFunction && isText && (id.Ident == "t" || id.Ident == "markup") {
						found[locale.Message(text.Text)] = "templates/" + name + ".html"
					}
				})
			}
		}
	}
	return found
}

// A template shows no words but messages: others would be English in every language.
func TestMessages_TemplatesHaveNoOtherWords(t *testing.T) {
	t.Parallel()
	// Names, and words that are the same in all languages.
	same := []string{"Weir", "API", "UTC", "HTTP", "ms", "results.csv", "results.xlsx", "codebook.csv", "log.csv", "dispositions.csv", "incentives.csv", "json"}
	words := regexp.MustCompile(`\pL[\pL.]*\pL`)
	seen := 0
	for name, load := range templatesOf(t) {
		set, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range set.Templates() {
			if one.Tree == nil || one.Name() == "marked" { // which has attributes of a tag
				continue
			}
			for _, word := range words.FindAllString(shownWords(one.Tree.Root), -1) {
				if seen++; !slices.Contains(same, strings.Trim(word, ".")) {
					t.Errorf("templates/%s.html, %s: %q is no message", name, one.Name(), word)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no words were found at all")
	}
}

var (
	codeOf     = regexp.MustCompile(`(?s)<(code|pre|svg)\b.*?</(?:code|pre|svg)>`)
	tagOf      = regexp.MustCompile(`(?s)<(?:[^>"]|"[^"]*")*>?`) // a template may end within a tag
	attributes = regexp.MustCompile(`(?:aria-label|placeholder|title|alt)="([^"]*)"`)
	entities   = regexp.MustCompile(`&[a-z]+;`)
)

// shownWords returns what a template shows, without what its actions insert.
func shownWords(root *parse.ListNode) string {
	var text strings.Builder
	var walk func(parse.Node)
	branch := func(b *parse.BranchNode) {
		walk(b.List)
		if b.ElseList != nil {
			walk(b.ElseList)
		}
	}
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			for _, x := range n.Nodes {
				walk(x)
			}
		case *parse.TextNode:
			text.Write(n.Text)
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		}
	}
	walk(root)
	html := codeOf.ReplaceAllString(text.String(), " ")
	shown := tagOf.ReplaceAllString(html, " ")
	for _, m := range attributes.FindAllStringSubmatch(html, -1) {
		shown += " " + m[1]
	}
	return entities.ReplaceAllString(shown, " ")
}

// walkTemplate visits every command below a node.
func walkTemplate(n parse.Node, visit func(*parse.CommandNode)) {
	pipe := func(p *parse.PipeNode) {
		if p == nil {
			return
		}
		for _, c := range p.Cmds {
			visit(c)
			for _, a := range c.Args {
				walkTemplate(a, visit)
			}
		}
	}
	branch := func(b *parse.BranchNode) {
		pipe(b.Pipe)
		walkTemplate(b.List, visit)
		if b.ElseList != nil {
			walkTemplate(b.ElseList, visit)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, x := range n.Nodes {
			walkTemplate(x, visit)
		}
	case *parse.ActionNode:
		pipe(n.Pipe)
	case *parse.PipeNode:
		pipe(n)
	case *parse.TemplateNode:
		pipe(n.Pipe)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}
