package httpjson

import (
	"reflect"
	"strings"
	"time"

	"weir"
)

// Decode sets what to points to from a JSON value as [ReadJSON] returns it, and [Checker.Check] leaves it: as
// json.Unmarshal would from its text, but what was checked is decoded, not what the text says besides. Values of
// a wrong type are skipped: the schema reports them.
func Decode(v, to any) { NewDecoder(to).Decode(v, to) }

// Decoder decodes into values of one type, whose members it has looked up before. It may be used by several
// goroutines at once.
type Decoder struct{ known decoder }

// NewDecoder returns a decoder into what a value like to points to.
func NewDecoder(to any) Decoder {
	d := decoder{}
	d.learn(reflect.TypeOf(to))
	return Decoder{d}
}

// Decode sets what to points to; see [Decode].
func (d Decoder) Decode(v, to any) { d.known.set(reflect.ValueOf(to).Elem(), v) }

// decoder has, of each struct that can be met, where its members are, by their names in JSON.
type decoder map[reflect.Type]map[string][]int

// learn looks up the members of a type, and of all that it consists of.
func (d decoder) learn(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		d.learn(t.Elem())
	case reflect.Struct:
		if d[t] != nil {
			return
		}
		members := map[string][]int{}
		d[t] = members
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "" && name != "-" {
				members[name] = f.Index
				d.learn(f.Type)
			}
		}
	default: // has no members
	}
}

func (d decoder) set(to reflect.Value, v any) {
	if to.Kind() == reflect.Pointer && v != nil {
		fresh := reflect.New(to.Type().Elem())
		d.set(fresh.Elem(), v)
		to.Set(fresh)
		return
	}
	switch v := v.(type) {
	case nil: // null is what an absent member is
	case map[string]any:
		d.setObject(to, v)
	case []any:
		d.setArray(to, v)
	case string:
		setText(to, v)
	case bool:
		if to.Kind() == reflect.Bool {
			to.SetBool(v)
		} else {
			setAny(to, v)
		}
	default:
		setNumber(to, v)
	}
}

// setAny sets what may be of any type.
func setAny(to reflect.Value, v any) {
	if to.Kind() == reflect.Interface && to.NumMethod() == 0 {
		to.Set(reflect.ValueOf(v))
	}
}

func (d decoder) setObject(to reflect.Value, v map[string]any) {
	switch to.Kind() {
	case reflect.Struct:
		members := d[to.Type()]
		for name, x := range v {
			if at, ok := members[name]; ok {
				d.set(to.FieldByIndex(at), x)
			}
		}
	case reflect.Map:
		all := reflect.MakeMapWithSize(to.Type(), len(v))
		for name, x := range v {
			one := reflect.New(to.Type().Elem()).Elem()
			d.set(one, x)
			all.SetMapIndex(reflect.ValueOf(name).Convert(to.Type().Key()), one)
		}
		to.Set(all)
	default:
		setAny(to, v)
	}
}

func (d decoder) setArray(to reflect.Value, v []any) {
	if to.Kind() != reflect.Slice {
		setAny(to, v)
		return
	}
	list := reflect.MakeSlice(to.Type(), len(v), len(v))
	for i, x := range v {
		d.set(list.Index(i), x)
	}
	to.Set(list)
}

func setText(to reflect.Value, v string) {
	switch {
	case to.Kind() == reflect.String:
		to.SetString(v)
	case to.Type() == reflect.TypeFor[time.Time]():
		if at, code, _ := weir.ParseInstant(v); code == "" {
			to.Set(reflect.ValueOf(at))
		}
	default:
		setAny(to, v)
	}
}

func setNumber(to reflect.Value, v any) {
	n, ok := weir.Number(v)
	switch {
	case ok && to.CanInt():
		if whole := int64(n); float64(whole) == n && !to.OverflowInt(whole) {
			to.SetInt(whole)
		}
	case ok && to.CanFloat():
		to.SetFloat(n)
	default:
		setAny(to, v)
	}
}
