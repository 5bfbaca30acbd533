package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// Where callers are checked, secrets and what is computed from them are compared in constant
// time: the time that == takes tells how much of a guess is right.
func TestSecrets_AreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	tr := load(t)
	checked := 0
	for _, f := range tr.files {
		if f.test || !checksCallers(f.folder) {
			continue
		}
		checked++
		for _, n := range plainComparisons(f.syntax) {
			t.Errorf("%s: compare secrets with crypto/subtle or hmac.Equal", tr.position(n))
		}
	}
	if checked == 0 {
		t.Error("no file checks callers")
	}
}

func TestSecrets_PlainComparisonsOfSecretsAreFound(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]int{
		"hash == k.Hash": 1, "given != e.secrets[i].Secret": 1, "string(signature) == got": 1, "bytes.Equal(x.sum, signature[:])": 1,
		"strings.EqualFold(got, authToken)": 1, `secret == ""`: 0, "hash != nil": 0, "subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1": 0,
		"len(secret) == 32": 0, "scheme == schemeHMAC": 0,
	} {
		e, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(plainComparisons(e)); got != want {
			t.Errorf("%s: %d are found, want %d", expr, got, want)
		}
	}
}

// checksCallers reports whether code in a folder checks tokens, signatures or the secrets of callbacks.
func checksCallers(folder string) bool {
	switch folder {
	case "web/auth", "web/callbacks", "web/router":
		return true
	}
	return strings.HasPrefix(folder, "channels/") && !strings.Contains(folder, "simul") && !strings.Contains(folder, "drivertest")
}

// plainComparisons returns the comparisons of secrets that stop at the first difference.
func plainComparisons(in ast.Node) []ast.Node {
	return below(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			return (n.Op == token.EQL || n.Op == token.NEQ) && !fixed(n.X) && !fixed(n.Y) && (secret(n.X) || secret(n.Y))
		case *ast.CallExpr:
			plain := selector(n.Fun, "bytes", "Equal") || selector(n.Fun, "slices", "Equal") || selector(n.Fun, "strings", "EqualFold")
			return plain && (secret(n.Args[0]) || secret(n.Args[1]))
		}
		return false
	})
}

// fixed reports whether an expression is a literal or nil.
func fixed(e ast.Expr) bool {
	_, literal := e.(*ast.BasicLit)
	name, ok := e.(*ast.Ident)
	return literal || ok && name.Name == "nil"
}

// secret reports whether an expression is named like a secret or what is computed from one.
func secret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "skipToken" && regexp.MustCompile(`(?i)(secret|token|hash|digest|signature|password)$`).MatchString(e.Name)
	case *ast.SelectorExpr:
		return secret(e.Sel)
	case *ast.SliceExpr:
		return secret(e.X)
	case *ast.StarExpr:
		return secret(e.X)
	case *ast.ParenExpr:
		return secret(e.X)
	case *ast.CallExpr: // a conversion
		name, ok := e.Fun.(*ast.Ident)
		_, array := e.Fun.(*ast.ArrayType)
		return (array || ok && name.Name == "string") && secret(e.Args[0])
	}
	return false
}
