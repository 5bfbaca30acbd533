package router_test

import (
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// operation is one operation of a client or one observed event. called and
// returned are readings of a common logical clock.
type operation[I, O any] struct {
	input    I
	output   O
	called   int64
	returned int64
	maybe    bool // outcome unknown; output is then meaningless
}

// linearizable reports whether the operations have an order that agrees with
// their times and that the model allows. An operation of unknown outcome may
// take effect at any time after its call, even after all others.
func linearizable[S comparable, I, O any](init S, step func(S, operation[I, O]) (S, bool), history []operation[I, O]) bool {
	model := porcupine.Model{
		Init: func() any { return init },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := step(state.(S), input.(operation[I, O]))
			return ok, next
		},
	}
	list := make([]porcupine.Operation, len(history))
	for i, o := range history {
		list[i] = porcupine.Operation{ClientId: i, Input: o, Call: o.called, Output: o.output, Return: o.returned}
		if o.maybe {
			list[i].Return = math.MaxInt64
		}
	}
	return porcupine.CheckOperations(model, list)
}

// register is a model for testing the checker: writes, and reads of the last
// write.
func register(state int, o operation[int, int]) (int, bool) {
	if o.input != 0 {
		return o.input, true
	}
	return state, o.maybe || o.output == state
}

func TestChecker_TellsWhichHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	write := func(v int, called, returned int64) operation[int, int] {
		return operation[int, int]{input: v, called: called, returned: returned}
	}
	read := func(v int, called, returned int64) operation[int, int] {
		return operation[int, int]{output: v, called: called, returned: returned}
	}
	lost := write(2, 1, 2)
	lost.maybe = true
	for name, c := range map[string]struct {
		history []operation[int, int]
		want    bool
	}{
		"nothing":                      {nil, true},
		"in order":                     {[]operation[int, int]{write(1, 1, 2), read(1, 3, 4)}, true},
		"an old value":                 {[]operation[int, int]{write(1, 1, 2), read(0, 3, 4)}, false},
		"either of two":                {[]operation[int, int]{write(1, 1, 4), write(2, 2, 3), read(1, 5, 6)}, true},
		"back and forth":               {[]operation[int, int]{write(1, 1, 4), write(2, 2, 3), read(1, 5, 6), read(2, 7, 8)}, false},
		"seen before it returned":      {[]operation[int, int]{write(1, 1, 9), read(1, 2, 3), read(0, 4, 5)}, false},
		"perhaps written, seen":        {[]operation[int, int]{lost, read(2, 5, 6)}, true},
		"perhaps written, unseen":      {[]operation[int, int]{lost, read(0, 5, 6)}, true},
		"perhaps written, and unmade":  {[]operation[int, int]{lost, read(2, 5, 6), read(0, 7, 8)}, false},
		"perhaps written, seen before": {[]operation[int, int]{read(2, -2, -1), lost}, false},
	} {
		slices.Reverse(c.history) // the order of the list is irrelevant
		if got := linearizable(0, register, c.history); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
