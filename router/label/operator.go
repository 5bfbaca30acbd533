package label

// Operator compares a label with a selector's value.
type Operator string

// The operators.
const (
	Equal          Operator = "equal"
	NotEqual       Operator = "notEqual"
	LessThan       Operator = "lessThan"
	LessOrEqual    Operator = "lessThanOrEqual"
	GreaterThan    Operator = "greaterThan"
	GreaterOrEqual Operator = "greaterThanOrEqual"
)

// Valid reports whether the operator is one of those defined here.
func (o Operator) Valid() bool {
	switch o {
	case Equal, NotEqual, LessThan, LessOrEqual, GreaterThan, GreaterOrEqual:
		return true
	}
	return false
}

// Satisfiable reports whether any label can hold against a value.
func (o Operator) Satisfiable(want Value) bool {
	switch o {
	case NotEqual:
		return true
	case Equal:
		return !want.IsZero()
	case LessThan, LessOrEqual, GreaterThan, GreaterOrEqual:
	}
	return want.kind == kindNumber
}

// Holds compares a label with a value. equal and notEqual compare kind and
// value; the other operators compare numbers only. A missing label (the zero
// Value) fails every operator except notEqual.
func (o Operator) Holds(label, want Value) bool {
	numbers := label.kind == kindNumber && want.kind == kindNumber
	switch o {
	case Equal:
		return !label.IsZero() && label == want
	case NotEqual:
		return label.IsZero() || label != want
	case LessThan:
		return numbers && label.num < want.num
	case LessOrEqual:
		return numbers && label.num <= want.num
	case GreaterThan:
		return numbers && label.num > want.num
	case GreaterOrEqual:
		return numbers && label.num >= want.num
	}
	return false
}
