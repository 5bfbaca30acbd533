package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// arrows is the graph of the files of one package: an arrow runs from a file to each
// other file of the package that declares something it uses.
type arrows struct {
	folder   string
	all      int
	climbing [][2]string
}

func (t *tree) arrows(p *pkg) arrows {
	uses := map[string]map[string]bool{}
	var names []string
	for _, f := range p.files {
		uses[f.path] = map[string]bool{}
		names = append(names, f.path)
	}
	where := map[*token.File]string{}
	for _, f := range p.files {
		where[t.fset.File(f.syntax.FileStart)] = f.path
	}
	for _, f := range p.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := p.info.Uses[id]
			if o == nil || o.Pkg() != p.types || !declared(o) {
				return true
			}
			if to := where[t.fset.File(o.Pos())]; to != "" && to != f.path {
				uses[f.path][to] = true
			}
			return true
		})
	}
	return climb(p.folder, names, uses)
}

// declared reports whether an object is declared at the level of the package, or is a
// method: fields belong to the type that is named beside them.
func declared(o types.Object) bool {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

func climb(folder string, names []string, uses map[string]map[string]bool) arrows {
	a := arrows{folder: folder}
	place := map[string]int{}
	for i, n := range order(names, uses) {
		place[n] = i
	}
	for _, from := range names {
		for to := range uses[from] {
			a.all++
			if place[from] > place[to] {
				a.climbing = append(a.climbing, [2]string{from, to})
			}
		}
	}
	slices.SortFunc(a.climbing, func(x, y [2]string) int { return slices.Compare(x[:], y[:]) })
	return a
}

// order puts files in an order in which few arrows run backwards: the heuristic of
// Eades, Lin and Smyth for the smallest set of such arrows.
func order(names []string, uses map[string]map[string]bool) []string {
	left := slices.Clone(names)
	slices.Sort(left)
	const inside, source, sink = 0, 1, 2
	var head, tail []string
	for len(left) > 0 {
		best, bestDelta, kind := -1, 0, inside
		for i, n := range left {
			out, in := 0, 0
			for _, m := range left {
				if uses[n][m] {
					out++
				}
				if uses[m][n] {
					in++
				}
			}
			switch {
			case out == 0:
				best, kind = i, sink
			case in == 0:
				best, kind = i, source
			case best < 0 || out-in > bestDelta:
				best, bestDelta = i, out-in
			}
			if kind != inside {
				break
			}
		}
		n := left[best]
		left = slices.Delete(left, best, best+1)
		if kind == sink {
			tail = append(tail, n)
		} else {
			head = append(head, n)
		}
	}
	slices.Reverse(tail)
	return sift(append(head, tail...), uses)
}

// sift moves each file to the place where the fewest of its arrows climb, until no move
// helps.
func sift(names []string, uses map[string]map[string]bool) []string {
	for better := true; better; {
		better = false
		for _, n := range slices.Clone(names) {
			at := slices.Index(names, n)
			rest := slices.Delete(slices.Clone(names), at, at+1)
			// climbs is the cost of n at a place, relative to the first place.
			best, least, climbs, now := 0, 0, 0, 0
			for i, m := range rest {
				if uses[n][m] { // n behind m: the arrow climbs
					climbs++
				}
				if uses[m][n] { // n behind m: the arrow no longer climbs
					climbs--
				}
				if climbs < least {
					best, least = i+1, climbs
				}
				if i+1 == at {
					now = climbs
				}
			}
			if least < now {
				names, better = slices.Insert(rest, best, n), true
			}
		}
	}
	return names
}
