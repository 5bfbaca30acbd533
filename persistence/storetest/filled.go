package storetest

import (
	"fmt"
	"reflect"
	"time"
)

// Filled returns a value of a struct type in which no field is zero, whatever fields it has: a
// field that somebody adds, and that one side of a store forgets, is missed when it comes back.
func Filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), "")
	return v
}

func fill(v reflect.Value, name string) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.UnixMicro(1_700_000_000_000_000 + int64(len(name))).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, name)
		fill(value, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case v.Kind() == reflect.String:
		v.SetString("a " + name)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	default:
		panic(fmt.Sprintf("storetest: a field of type %s cannot be filled", v.Type()))
	}
}
