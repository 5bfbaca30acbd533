package questions

import (
	"slices"

	"weir/surveys/questions/expression"
)

// maxReachCost bounds how long a definition is searched for questions that cannot be reached, in
// characters of the conditions that are evaluated. What is not searched is taken as reachable.
const maxReachCost = 10 << 20

// checkReachable reports questions that nobody can be asked.
func (c *compiler) checkReachable() {
	r := reach{Questionnaire: c.out, left: maxReachCost}
	for i := range c.out.questions {
		if q := &c.out.questions[i]; !r.possible(i) {
			if q.relevant != nil && r.possibleBefore(i) {
				c.Add(place(i)+"/relevant", "unreachable", "is never true: question %q can never be asked", q.Name)
			} else {
				c.Add(place(i), "unreachable", "question %q can never be asked: the conversation has always ended before", q.Name)
			}
		}
	}
}

// reach tries the answers to the questions for choices on which a condition depends.
type reach struct {
	*Questionnaire
	left int // of maxReachCost
}

// depends returns the questions on whose answers the conditions of a question depend, also
// by the conditions of those, in order.
func (qs *Questionnaire) depends(on ...*expression.Expression) (list []int) {
	seen := map[int]bool{}
	var visit func(e *expression.Expression)
	visit = func(e *expression.Expression) {
		if e == nil {
			return
		}
		for _, ref := range e.Refs() {
			if i, ok := qs.index[ref.Name]; ok && !seen[i] {
				seen[i] = true
				list = append(list, i)
				visit(qs.questions[i].relevant)
			}
		}
	}
	for _, e := range on {
		visit(e)
	}
	slices.Sort(list)
	return list
}

// possible reports whether a question can be asked.
func (r *reach) possible(i int) bool { return r.search(i, r.questions[i].relevant) }

// possibleBefore reports whether the conversation can come to a question, whatever its condition is.
func (r *reach) possibleBefore(i int) bool { return r.search(i, nil) }

func (r *reach) search(i int, relevant *expression.Expression) bool {
	vars := r.depends(relevant)
	var ends []int // before it, of which all can be decided
	for j := range i {
		if q := &r.questions[j]; q.Kind == End {
			of := r.depends(q.relevant)
			if relevant == nil {
				vars = append(vars, of...)
				ends = append(ends, j)
			} else if !slices.ContainsFunc(of, func(k int) bool { return !slices.Contains(vars, k) }) {
				ends = append(ends, j)
			}
		}
	}
	slices.Sort(vars)
	vars = slices.DeleteFunc(slices.Compact(vars), func(j int) bool { return r.questions[j].Kind != Choose })
	given := map[string]expression.Value{}
	env := &expression.Env{Name: func(name string) expression.Value {
		if v, ok := given[name]; ok {
			return v
		}
		return expression.Unknown()
	}}
	// holds reports whether a condition can be true.
	holds := func(e *expression.Expression, want bool) bool {
		if e == nil {
			return want
		}
		r.left -= len(e.String())
		v := e.Value(env)
		return !v.Known() || v.Bool() == want
	}
	var try func(n int) bool
	try = func(n int) bool {
		if r.left <= 0 {
			return true
		}
		if n == len(vars) {
			return !slices.ContainsFunc(ends, func(j int) bool { return !holds(r.questions[j].relevant, false) }) && holds(relevant, true)
		}
		q := &r.questions[vars[n]]
		defer delete(given, q.Name)
		if holds(q.relevant, false) || len(q.Allow) > 0 || q.AfterTries == AfterSkip {
			if given[q.Name] = q.typed(""); try(n + 1) {
				return true
			}
			if given[q.Name] = q.typed(q.Default); try(n + 1) {
				return true
			}
		}
		if !holds(q.relevant, true) {
			return false
		}
		for _, o := range q.Choices {
			if o.End == "" {
				if given[q.Name] = expression.Text(o.Name); try(n + 1) {
					return true
				}
			}
		}
		return false
	}
	return try(0)
}

// Arrow leads from a question to one that can follow.
type Arrow struct {
	From   string
	Choice string // the answer; empty: any, or any other
	To     string // empty: the end
	End    Ending // if it is the end
	Maybe  bool   // it depends on other answers as well
}

// maxArrows is how many questions can follow one, of those that are listed.
const maxArrows = 50

// Arrows returns where the answers to each question lead, computed from the conditions, in order.
func (qs *Questionnaire) Arrows() (arrows []Arrow) {
	for i := range qs.questions {
		q := &qs.questions[i]
		if !Asked(q.Kind) {
			continue
		}
		whatever := qs.follow(i, expression.Unknown())
		if q.Kind != Choose {
			arrows = append(arrows, whatever...)
			continue
		}
		var each [][]Arrow
		for _, o := range q.Choices {
			if o.End != "" {
				each = append(each, []Arrow{{From: q.Name, End: o.End}})
				continue
			}
			each = append(each, qs.follow(i, expression.Text(o.Name)))
		}
		if !slices.ContainsFunc(each, func(one []Arrow) bool { return !slices.Equal(one, each[0]) }) {
			arrows = append(arrows, each[0]...)
			continue
		}
		for j, one := range each {
			for _, a := range one {
				a.Choice = q.Choices[j].Name
				arrows = append(arrows, a)
			}
		}
		if len(q.Allow) > 0 || q.AfterTries == AfterSkip {
			arrows = append(arrows, qs.follow(i, q.typed(q.Default))...)
		}
	}
	return arrows
}

// follow returns what can follow a question after an answer.
func (qs *Questionnaire) follow(from int, answer expression.Value) (arrows []Arrow) {
	given := map[string]expression.Value{qs.questions[from].Name: answer}
	env := &expression.Env{Name: func(name string) expression.Value {
		if v, ok := given[name]; ok {
			return v
		}
		return expression.Unknown()
	}}
	for i := from + 1; i < len(qs.questions) && len(arrows) < maxArrows; i++ {
		q := &qs.questions[i]
		asked := expression.Bool(true)
		if q.relevant != nil {
			asked = q.relevant.Value(env)
		}
		if asked.Known() && !asked.Bool() {
			given[q.Name] = expression.Value{}
			continue
		}
		if !Asked(q.Kind) && q.Kind != End {
			continue
		}
		a := Arrow{From: qs.questions[from].Name, To: q.Name, Maybe: !asked.Known()}
		if q.Kind == End {
			if a.End = q.End; a.End == "" {
				a.End = Completed
			}
		}
		if arrows = append(arrows, a); !a.Maybe {
			return settle(arrows)
		}
	}
	return settle(append(arrows, Arrow{From: qs.questions[from].Name, End: Completed}))
}

// settle marks the last arrow as one of several, if it is.
func settle(arrows []Arrow) []Arrow {
	if len(arrows) > 1 {
		arrows[len(arrows)-1].Maybe = true
	}
	return arrows
}
