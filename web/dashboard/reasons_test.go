package dashboard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"weir/channels"
	"weir/web/dashboard/locale"
)

// reasonDirs are the packages that word why a contact failed, waits or was not sent, and why a channel does not work.
func reasonDirs() []string {
	return []string{
		".", "actors/channels", "actors/contacts", "actors/surveys", "limits", "people", "persistence/contacts", "persistence/limits", "persistence/people", "surveys",
		"channels", "channels/httpgateway", "channels/kannel", "channels/nuntium", "channels/provider", "channels/twilio", "channels/verboice", "channels/workers",
	}
}

// flow follows the texts of reasons back to where they are written: from the fields and parameters of that name, over
// variables, results and constants. Functions and fields are told apart by their names alone.
type flow struct {
	files     *token.FileSet
	constants map[string]map[string]ast.Expr // by package
	funcs     map[string][]*ast.FuncType
	bodies    map[string][]*ast.BlockStmt
	calls     map[string][]callIn
	structs   map[string][]string // names of the fields
	owners    map[*ast.BlockStmt]string
	seen      map[string]bool
	found     map[string]string
}

// callIn is a call in the body of a function.
type callIn struct {
	*ast.CallExpr
	body *ast.BlockStmt
}

// noReasons are texts that the search meets on its way and that are no reasons.
func noReasons() []string {
	return []string{
		", or more than ", "ended with the reason %s", "failed", "of the last %d contacts, from %d on, more than", "length", "range", "required", // of the settings of a brake
		"channel %s: %w", "channel %s: this program has no channel type %q", "invalid", "refused", "%s UTC", // of the log, a code, a disposition, an instant
	}
}

// TestReasons_AreInEveryLanguage: every reason that Weir can word is in each language, with the same verbs, and no language
// has one that nothing says.
func TestReasons_AreInEveryLanguage(t *testing.T) {
	t.Parallel()
	said := reasonsOf(t)
	for _, no := range noReasons() {
		if said[no] == "" {
			t.Errorf("%q is nowhere", no)
		}
		delete(said, no)
	}
	said["; %v"] = "people.Outlook" // has no letters
	if len(said) < 150 {
		t.Fatalf("only %d reasons were found", len(said))
	}
	for _, must := range []string{channels.OptedOut, channels.NumberNotUsable, channels.MessageNotAcceptable, channels.RateLimited, channels.WindowClosed, channels.Machine,
		channels.FailedAtProvider, channels.CanceledAtProvider, "region not permitted", "credentials refused", "no value for %s of respondent %s"} {
		if said[must] == "" {
			t.Errorf("%q was not found", must)
		}
	}
	for _, l := range locale.New().List()[1:] {
		texts, err := locale.Reasons(l.Code)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range slices.Sorted(maps.Keys(said)) {
			if text, known := texts[format]; known {
				checkForm(t, l.Code, format, text)
			} else {
				t.Errorf("%s: %s has no translation of the reason %q", said[format], l.Code, format)
			}
		}
		for format := range texts {
			if said[format] == "" {
				t.Errorf("%s translates the reason %q, which nothing says", l.Code, format)
			}
		}
	}
}

// What a provider or an operator has worded stays as it is, also if it looks like a part of a reason.
func TestReasons_OfOthersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, l := range locale.New().List() {
		for _, said := range []string{"", "Call rejected (ISDN:21)", "3 in 24h", "carrier says: number not usable", "El número no existe", "5 in the queue", `"x"`} {
			if got := l.Reason(said); got != said {
				t.Errorf("%s: %q is %q", l.Code, said, got)
			}
		}
	}
}

// What somebody else has worded is not half translated because it begins or ends like a reason that has another within it.
func TestReasons_OfOthersAreNotHalfTranslated(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, l := range locale.New().List()[1:] {
		texts, err := locale.Reasons(l.Code)
		if err != nil {
			t.Fatal(err)
		}
		for format := range texts {
			if !strings.Contains(format, "%v") || format[0] == ',' { // a comma begins what stands only within another
				continue
			}
			checked++
			said := strings.NewReplacer("%v", "los créditos", "%s", "X", "%d", "5").Replace(format)
			if got := l.Reason(said); got != said {
				t.Errorf("%s: %q is %q", l.Code, said, got)
			}
		}
		for _, own := range []string{
			"limit north: 5 of 10 USD spent today (UTC), and a contact for 6 more would exceed it", "limit 1: the channel has no price in USD", "the survey's budget: the channel has no price in USD",
			"contacted 1 a calendar day over all purposes already", "contacted 2 in 7d already", "For x the person is not contacted: opted out", "For x the person may be contacted now; cap 2 in 7d: 1 left",
		} {
			if got := l.Reason(own); got == own {
				t.Errorf("%s has no words for %q", l.Code, own)
			}
		}
	}
	if checked < 3*9 {
		t.Errorf("only %d formats were checked", checked)
	}
}

// reasonsOf returns the formats of all reasons that Weir can word, and where they are.
func reasonsOf(t *testing.T) map[string]string {
	t.Helper()
	f := &flow{files: token.NewFileSet(), constants: map[string]map[string]ast.Expr{}, funcs: map[string][]*ast.FuncType{}, bodies: map[string][]*ast.BlockStmt{},
		calls: map[string][]callIn{}, structs: map[string][]string{}, owners: map[*ast.BlockStmt]string{}, seen: map[string]bool{}, found: map[string]string{}}
	var list []*ast.File
	for _, dir := range reasonDirs() {
		files := sourceOf(t, f.files, filepath.Join("..", "..", dir))
		if len(files) == 0 {
			t.Errorf("there is no %s", dir)
		}
		list = append(list, files...)
	}
	file, err := parser.ParseFile(f.files, "../api/timeline.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, file)
	for _, file := range list {
		f.index(file)
	}
	for _, file := range list {
		f.follow(file)
	}
	f.followTemplates(t)
	return f.found
}

// followTemplates adds what the templates of httpgateway that come with Weir say.
func (f *flow) followTemplates(t *testing.T) {
	t.Helper()
	names, err := filepath.Glob("../../channels/httpgateway/templates/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	reason := regexp.MustCompile(`"reason": ("(?:[^"\\]|\\.)*")`)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reason.FindAllSubmatch(data, -1) {
			text, err := strconv.Unquote(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			f.found[text] = name
		}
	}
}

// index notes constants, and the functions with their calls.
func (f *flow) index(file *ast.File) {
	if f.constants[file.Name.Name] == nil {
		f.constants[file.Name.Name] = map[string]ast.Expr{}
	}
	(&sentences{constants: f.constants[file.Name.Name]}).readConstants(file)
	for _, d := range file.Decls {
		if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.VAR { // errors
			for _, spec := range decl.Specs {
				if v := spec.(*ast.ValueSpec); len(v.Names) == 1 && len(v.Values) == 1 {
					f.constants[file.Name.Name][v.Names[0].Name] = v.Values[0]
				}
			}
		}
	}
	var body *ast.BlockStmt
	function := func(name string, typ *ast.FuncType, of *ast.BlockStmt) {
		name = f.keyOf(name, typ)
		f.funcs[name] = append(f.funcs[name], typ)
		f.bodies[name] = append(f.bodies[name], of)
		f.owners[of] = name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			body = n.Body
			function(n.Name.Name, n.Type, n.Body)
		case *ast.AssignStmt:
			if lit, ok := n.Rhs[0].(*ast.FuncLit); ok {
				function(nameOf(n.Lhs[0]), lit.Type, lit.Body)
			}
		case *ast.TypeSpec:
			if typ, ok := n.Type.(*ast.StructType); ok {
				f.structs[n.Name.Name] = parameters(typ.Fields)
			}
		case *ast.CallExpr:
			name := f.keyOf(nameOf(n.Fun), n)
			f.calls[name] = append(f.calls[name], callIn{n, body})
		}
		return true
	})
}

func isReason(e ast.Expr) bool {
	return slices.Contains([]string{"Reason", "HealthReason", "reason"}, nameOf(e))
}

// follow starts from what is named reason in a file.
func (f *flow) follow(file *ast.File) {
	var body *ast.BlockStmt
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			body = n.Body
			f.returned(n.Name.Name, n.Type, n.Body)
		case *ast.KeyValueExpr:
			if isReason(n.Key) {
				f.text(n.Value, body)
			}
		case *ast.CompositeLit:
			for i, name := range f.structs[nameOf(n.Type)] {
				if strings.HasSuffix(name, "eason") && i < len(n.Elts) {
					f.text(n.Elts[i], body) // one with its name is none
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if isReason(to) {
					f.assigned(n, i, body)
				}
			}
		case *ast.CallExpr:
			for _, typ := range f.funcs[f.keyOf(nameOf(n.Fun), n)] {
				for i, name := range parameters(typ.Params) {
					if name == "reason" && i < len(n.Args) {
						f.text(n.Args[i], body)
					}
				}
			}
		}
		return true
	})
}

// returned follows the results of a function that are named reason.
func (f *flow) returned(name string, typ *ast.FuncType, body *ast.BlockStmt) {
	for i, result := range parameters(typ.Results) {
		if result == "reason" || (name == "Reason" || strings.HasSuffix(name, "Reason") || name == "reasonOf" || name == "NotRecorded" || name == "describe" || name == "sentence") && len(parameters(typ.Results)) == 1 || name == "Prepare" { // see StatusDone
			f.result(f.keyOf(name, typ), i)
		}
	}
}

// result follows a result of the functions with a name.
func (f *flow) result(name string, i int) {
	key := name + " " + strconv.Itoa(i)
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	for at, body := range f.bodies[name] {
		if names := parameters(f.funcs[name][at].Results); i < len(names) && names[i] != "" {
			f.variable(names[i], body)
		}
		if body != nil {
			ast.Inspect(body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.ReturnStmt:
					switch {
					case i < len(n.Results):
						f.text(n.Results[i], body)
					case len(n.Results) == 1:
						if call, ok := n.Results[0].(*ast.CallExpr); ok {
							f.result(f.keyOf(nameOf(call.Fun), call), i)
						}
					}
				}
				return true
			})
		}
	}
}

// variable follows what a function assigns to a variable.
func (f *flow) variable(name string, body *ast.BlockStmt) {
	if body == nil || name == "_" {
		return
	}
	key := name + " " + f.files.Position(body.Pos()).String()
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	ast.Inspect(body, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok {
			for i, to := range assign.Lhs {
				if id, ok := to.(*ast.Ident); ok && id.Name == name {
					f.assigned(assign, i, body)
				}
			}
		}
		return true
	})
}

func (f *flow) assigned(n *ast.AssignStmt, i int, body *ast.BlockStmt) {
	if len(n.Rhs) == len(n.Lhs) {
		f.text(n.Rhs[i], body)
	} else if call, ok := n.Rhs[0].(*ast.CallExpr); ok {
		f.result(f.keyOf(nameOf(call.Fun), call), i)
	}
}

// text follows an expression that is a reason, or a part of one.
func (f *flow) text(e ast.Expr, body *ast.BlockStmt) {
	switch e := e.(type) {
	case *ast.BasicLit:
		f.literal(e)
	case *ast.BinaryExpr:
		f.literal(e)
		f.parts(e, body)
	case *ast.ParenExpr:
		f.text(e.X, body)
	case *ast.UnaryExpr:
		f.text(e.X, body)
	case *ast.CompositeLit:
		for _, one := range e.Elts {
			if pair, ok := one.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Message" && nameOf(e.Type) == "Error" {
				f.text(pair.Value, body)
			}
		}
		if list, ok := e.Type.(*ast.ArrayType); ok && nameOf(list.Elt) == "string" {
			for _, one := range e.Elts {
				f.text(one, body)
			}
		}
	case *ast.Ident:
		if c := f.constants[f.packageOf(e)][e.Name]; c != nil {
			f.text(c, body)
			return
		}
		f.variable(e.Name, body)
		f.parameter(e.Name, body)
	case *ast.SelectorExpr:
		if c := f.constants[nameOf(e.X)][e.Sel.Name]; c != nil {
			f.text(c, body)
		}
	case *ast.CallExpr:
		switch name := nameOf(e.Fun); name {
		case "string", "String", "text", "reason", "Driver": // names, what a template says, and what the log alone has
		case "New":
			if nameOf(e.Fun.(*ast.SelectorExpr).X) == "errors" {
				f.text(e.Args[0], body)
			}
		case "Sprintf", "Errorf", "Or":
			for _, arg := range e.Args {
				f.text(arg, body)
			}
		case "Error":
			f.text(e.Fun.(*ast.SelectorExpr).X, body)
		default:
			f.result(f.keyOf(name, e), 0)
		}
	}
}

// parts follows the parts of a sum that are no literals.
func (f *flow) parts(e *ast.BinaryExpr, body *ast.BlockStmt) {
	for _, part := range []ast.Expr{e.X, e.Y} {
		switch part := part.(type) {
		case *ast.BinaryExpr:
			f.parts(part, body)
		case *ast.BasicLit:
		default:
			f.text(part, body)
		}
	}
}

// parameter follows what a function is called with.
func (f *flow) parameter(name string, body *ast.BlockStmt) {
	of := f.owners[body]
	key := "parameter " + name + " of " + of
	if of == "" || f.seen[key] {
		return
	}
	f.seen[key] = true
	for inner, of := range f.owners { // the function, and those in it
		if inner.Pos() < body.Pos() || inner.End() > body.End() {
			continue
		}
		for _, typ := range f.funcs[of] {
			i := slices.Index(parameters(typ.Params), name)
			for _, call := range f.calls[of] {
				if i >= 0 && i < len(call.Args) {
					f.text(call.Args[i], call.body)
				}
			}
		}
	}
}

func (f *flow) literal(e ast.Expr) {
	s := sentences{constants: f.constants[f.packageOf(e)]}
	for _, text := range s.textsOf(e) {
		if own := wordVerb.ReplaceAllString(text, ""); strings.ContainsFunc(own, unicode.IsLetter) && own[0] != '/' { // / begins a pointer
			f.found[text] = f.files.Position(e.Pos()).String()
		}
	}
}

// keyOf returns the name of a function; with its package if others cannot call it.
func (f *flow) keyOf(name string, n ast.Node) string {
	if ast.IsExported(name) {
		return name
	}
	return f.packageOf(n) + "." + name
}

func (f *flow) packageOf(n ast.Node) string {
	dir := filepath.Base(filepath.Dir(f.files.Position(n.Pos()).Filename))
	if dir == ".." {
		return "weir"
	}
	return dir
}

// parameters returns the names of parameters or results, one for each.
func parameters(list *ast.FieldList) (names []string) {
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		if len(field.Names) == 0 {
			names = append(names, "")
		}
		for _, n := range field.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
