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

// Holds compares a label with a value. equal and notEqual compare kind and
// value; the other operators compare numbers only. A missing label (the zero
// Value) fails every operator except notEqual.
func (o Operator) Holds(label, want Value) bool {
	switch o {
	case Equal:
		return !label.IsZero() && label == want
	case NotEqual:
		return label.IsZero() || label != want
	case LessThan, LessOrEqual, GreaterThan, GreaterOrEqual:
		return label.kind == kindNumber && want.kind == kindNumber && o.orders(label.num, want.num)
	}
	return false
}

func (o Operator) orders(label, want float64) bool {
	switch o {
	case LessThan:
		return label < want
	case LessOrEqual:
		return label <= want
	case GreaterThan:
		return label > want
	case GreaterOrEqual:
		return label >= want
	case Equal, NotEqual:
	}
	return false
}
