package dashboard

import (
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"weir/web/dashboard/locale"
)

// refusing are the files that refuse what a page sends: documents, questionnaires, files and steps. With errors, errors
// that they make are mistakes, too.
func refusing() []refusingFiles {
	return []refusingFiles{
		{"instant.go", true}, {"brake.go", true}, {"internal/validation/*.go", true}, {"internal/phonenumber/zones.go", true}, {"internal/phonenumber/phone.go", true}, {"internal/workbook/*.go", true},
		{"surveys/*.go", true}, {"surveys/calendar/*.go", true}, {"surveys/questions/*.go", true}, {"surveys/questions/expression/*.go", true}, {"surveys/respondents/*.go", true},
		{"people/address.go", true}, {"people/purpose.go", true}, {"limits/*.go", true}, {"operators/rights.go", true},
		{"channels/settings.go", true}, {"channels/provider/settings.go", false}, {"channels/httpgateway/*.go", false}, {"channels/kannel/settings.go", false}, {"channels/nuntium/driver.go", false},
		{"channels/twilio/settings.go", false}, {"channels/verboice/settings.go", false}, {"channels/workers/settings.go", false},
		{"actors/surveys/*.go", false}, {"persistence/limits/*.go", false}, {"persistence/people/*.go", false}, {"persistence/surveys/*.go", false},
		{"api/*.go", false}, {"web/httpjson/check.go", false}, {"web/httpjson/problem.go", false}, {"web/imports/*.go", false}, {"web/surveys/*.go", false},
		{"web/limits/*.go", false}, {"web/people/[^c]*.go", false}, {"web/people/consents.go", false}, // and not what imports consents, for which there is no page
		{"web/api/accept.go", false}, {"web/api/channel*.go", false}, {"web/api/contacts*.go", false}, {"web/api/lookup.go", false}, {"web/api/tokens.go", false}, {"web/api/webhooks.go", false},
	}
}

type refusingFiles struct {
	glob   string
	errors bool
}

// neverShown are refusals of what no page sends, and errors that only the log has.
func neverShown() []string {
	return []string{
		"a survey is asked to :launch, :pause, :resume, :stop, :lock or :unlock", "is %s", "disposition", "call", "messages", "columns are those of a file in CSV",
		"each item must be COLUMN=FIELD, or COLUMN= for one that is left out", "send the body as %s, not compressed", "the form has no boundary", "the form has no part file",
		"the form may have the parts contact and file, in this order", "the part contact has what rows leave out, and neither to nor key", "the part contact must be a JSON object",
		"method not allowed; use DELETE, GET, HEAD, PATCH or PUT, and POST …:launch, :pause, :resume, :stop, :lock or :unlock for steps",
		"must be a list of COLUMN=FIELD, separated by commas: %s", "must be a list of columns, separated by commas: %s", "must be the next_cursor of a page before",
		"no value for a field of the text", "not the id of a respondent", "outcome", "phone, columns and header are of a file in CSV", "status",
		"the disposition cannot follow the present one", "the event cannot be read", "the keys of people were not opened", "the respondent was started before",
		"the respondent's status is final", "the response is not a JSON object with disposition, messages, answers and stop", "the schedule never opens again", "the step of a respondent failed",
		"update requires on_error=skip: respondents are corrected before the whole file is read",
	}
}

// Every sentence by which a page can be refused is in each language, with the same verbs, and no language has one that
// nothing says.
func TestMistakes_AreInEveryLanguage(t *testing.T) {
	t.Parallel()
	said := sentencesOf(t, refusing())
	for _, never := range neverShown() {
		if said[never] == "" {
			t.Errorf("%q is nowhere", never)
		}
		delete(said, never)
	}
	for _, code := range errorsOfPatterns() {
		said[string(code)] = "a pattern"
	}
	said["error parsing regexp: %s: `%s`"] = "a pattern"
	for _, code := range []string{"es", "fr", "pt"} {
		texts, err := locale.Mistakes(code)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range slices.Sorted(maps.Keys(said)) {
			if text, known := texts[format]; known {
				checkForm(t, code, format, text)
			} else {
				t.Errorf("%s: %s has no translation of the mistake %q", said[format], code, format)
			}
		}
		for format := range texts {
			if said[format] == "" {
				t.Errorf("%s translates the mistake %q, which nothing says", code, format)
			}
		}
	}
}

// errorsOfPatterns are those of regular expressions, which Go says.
func errorsOfPatterns() []syntax.ErrorCode {
	return []syntax.ErrorCode{
		syntax.ErrInvalidCharClass, syntax.ErrInvalidCharRange, syntax.ErrInvalidEscape, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidPerlOp, syntax.ErrInvalidRepeatOp,
		syntax.ErrInvalidRepeatSize, syntax.ErrInvalidUTF8, syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash,
		syntax.ErrUnexpectedParen, syntax.ErrNestingDepth, syntax.ErrLarge,
	}
}

// sentencesOf finds the formats of mistakes and of their parts, and where they are.
func sentencesOf(t *testing.T, from []refusingFiles) map[string]string {
	t.Helper()
	files, found := token.NewFileSet(), map[string]string{}
	s := sentences{constants: map[string]ast.Expr{}}
	parsed := map[string][]*ast.File{}
	for _, f := range from {
		dir, name := filepath.Split(f.glob)
		for _, file := range sourceOf(t, files, filepath.Join("..", "..", dir)) {
			if ok, _ := filepath.Match(name, filepath.Base(files.Position(file.Pos()).Filename)); ok {
				parsed[f.glob] = append(parsed[f.glob], file)
				s.readConstants(file)
			}
		}
	}
	for _, f := range from {
		if len(parsed[f.glob]) == 0 {
			t.Errorf("there is no %s", f.glob)
		}
		s.dir = f.glob
		for _, file := range parsed[f.glob] {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, e := range s.said(n, f.errors) {
					for _, text := range s.textsOf(e) {
						if own := wordVerb.ReplaceAllString(text, ""); strings.ContainsFunc(own, unicode.IsLetter) && own[0] != '/' || strings.Contains(own, "{{") { // / begins a pointer
							found[text] = files.Position(e.Pos()).String()
						}
					}
				}
				return true
			})
		}
	}
	return found
}

var wordVerb = regexp.MustCompile(`%(?:\[\d\])?[.\d]*[a-zA-Z]`)

// sentences finds texts in a syntax tree.
type sentences struct {
	constants map[string]ast.Expr
	dir       string // that is read
}

func (s *sentences) readConstants(file *ast.File) {
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, spec := range decl.Specs {
			if v := spec.(*ast.ValueSpec); len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					s.constants[name.Name] = v.Values[i]
				}
			}
		}
	}
}

// said returns what may be the text of a mistake in a node.
func (s *sentences) said(n ast.Node, errs bool) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch name := nameOf(n.Fun); {
		case name == "checkLength" && len(n.Args) == 4:
			return n.Args[1:2]
		case name == "codes" && len(n.Args) > 2:
			return n.Args[2:3]
		case name == "need" && len(n.Args) == 2:
			return n.Args[1:]
		case slices.Contains([]string{"fail", "warn", "wrong"}, name) && len(n.Args) > 1 && strings.Contains(s.dir, "expression"):
			return n.Args[1:2]
		case slices.Contains([]string{"Add", "add", "fail", "refuse", "wrong", "Wrong"}, name) && len(n.Args) > 2:
			return n.Args[2:3]
		case slices.Contains([]string{"errorf", "tooLarge", "errBroken"}, name) && strings.Contains(s.dir, "workbook"):
			return append(n.Args[:1:1], s.constantsOf(n.Args[1:])...)
		case name == "Condition" && len(n.Args) == 2:
			return conditionOn(n)
		case name == "Refuse" && len(n.Args) == 2:
			return n.Args[1:]
		case name == "Errorf" && nameOf(n.Fun.(*ast.SelectorExpr).X) == "weir":
			return n.Args[1:2]
		case errs && (name == "Errorf" || name == "New" && nameOf(n.Fun.(*ast.SelectorExpr).X) == "errors"):
			return n.Args[:1]
		}
	case *ast.KeyValueExpr:
		if name := nameOf(n.Key); name == "Detail" || name == "Message" || name == "Missing" || name == "Wrong" {
			return []ast.Expr{n.Value}
		}
	case *ast.CompositeLit:
		if nameOf(n.Type) == "Wording" && len(n.Elts) > 3 {
			return n.Elts[:3]
		}
		if nameOf(n.Type) == "Mistake" && len(n.Elts) > 0 {
			last := n.Elts[len(n.Elts)-1]
			if pair, ok := last.(*ast.KeyValueExpr); ok {
				last = pair.Value
			}
			return []ast.Expr{last}
		}
	case *ast.FuncDecl:
		if slices.Contains(partsIn(), n.Name.Name) {
			return s.parts(n.Body)
		}
	case *ast.Field:
		if n.Tag != nil {
			if m := patternTag.FindStringSubmatch(n.Tag.Value); m != nil {
				return []ast.Expr{&ast.BasicLit{ValuePos: n.Pos(), Kind: token.STRING, Value: m[1]}}
			}
		}
	}
	return nil
}

// conditionOn returns what [document.Condition] says of a kind of document.
func conditionOn(call *ast.CallExpr) (list []ast.Expr) {
	kind, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"there is a " + kind + " %s already; nothing was changed", "there is a " + kind + " of this name already"} {
		list = append(list, &ast.BasicLit{ValuePos: call.Pos(), Kind: token.STRING, Value: strconv.Quote(text)})
	}
	return list
}

// constantsOf returns the arguments that are constant texts, which are parts of a sentence.
func (s *sentences) constantsOf(args []ast.Expr) (list []ast.Expr) {
	for _, e := range args {
		if name, ok := e.(*ast.Ident); ok && len(s.textsOf(s.constants[name.Name])) == 1 {
			list = append(list, e)
		}
	}
	return list
}

// partsIn are functions that make a part of a sentence.
func partsIn() []string {
	return []string{"ParseInstant", "ParseScope", "mismatch", "prepareChannel", "areMissing", "rowsAre", "errMissingAttribute", "columnsError", "check", "Check", "joinNames", "operand", "takes", "plural", "quoted", "refused", "Error", "wrongAttribute", "kind", "wrong", "wrongObject"}
}

var patternTag = regexp.MustCompile(`patternDescription:("[^"]*")`)

// parts returns the texts that a function returns or assigns.
func (s *sentences) parts(body *ast.BlockStmt) (list []ast.Expr) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				if texts := s.textsOf(e); len(texts) == 1 && (len(n.Results) == 1 || strings.Contains(texts[0], " ")) { // and no code
					list = append(list, e)
				}
			}
		case *ast.AssignStmt:
			for _, e := range n.Rhs {
				if _, isConstant := e.(*ast.Ident); !isConstant {
					list = append(list, e)
				}
			}
		}
		return true
	})
	return list
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// textsOf returns the formats that an expression can be.
func (s *sentences) textsOf(e ast.Expr) (list []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		return []string{s.partOf(e.X) + s.partOf(e.Y)}
	case *ast.Ident, *ast.SelectorExpr:
		if c := s.constants[nameOf(e)]; c != nil {
			return s.textsOf(c)
		}
	case *ast.CallExpr:
		switch nameOf(e.Fun) {
		case "Sprintf", "New":
			return s.textsOf(e.Args[0])
		case "Or":
			for _, arg := range e.Args {
				list = append(list, s.textsOf(arg)...)
			}
			return list
		}
	}
	return nil
}

func (s *sentences) partOf(e ast.Expr) string {
	if texts := s.textsOf(e); texts != nil {
		return texts[0]
	}
	return "%s"
}
