package router

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/router/internal/codec"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// Every field of every kind of entity survives a snapshot. Reflection finds the fields, so
// that this holds for future ones too.
func TestSnapshot_KeepsEveryField(t *testing.T) {
	t.Parallel()
	kinds := reflect.TypeFor[record]()
	for i := range kinds.NumField() {
		t.Run(kinds.Field(i).Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var want record
				entity := reflect.New(kinds.Field(i).Type.Elem())
				fillFields(t, entity.Elem(), true)
				reflect.ValueOf(&want).Elem().Field(i).Set(entity)
				checkKept(t, want)
			})
		})
	}
}

// Most jobs have the form of a snapshot that is read by hand. It keeps every field too,
// whichever others are absent.
func TestSnapshot_KeepsEveryFieldOfUsualJobs(t *testing.T) {
	t.Parallel()
	usual := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		j := &jobData{}
		fillFields(t, reflect.ValueOf(j).Elem(), false)
		j.Offers, j.Declines, j.Taken, j.Fired, j.Awaits, j.Notes = nil, nil, nil, nil, AwaitNothing, nil
		for _, selectors := range [][]resource.WorkerSelector{j.RequestedWorkerSelectors, j.Attached} {
			for i := range selectors {
				selectors[i].ExpiresAfterSeconds = 0
			}
		}
		line := checkKept(t, record{Job: j})
		if _, ok := readJob(codec.NewReader(), line); !ok {
			return
		}
		v := reflect.ValueOf(*j)
		for _, f := range reflect.VisibleFields(v.Type()) {
			usual[f.Name] = usual[f.Name] || !v.FieldByIndex(f.Index).IsZero()
		}
	})
	elsewhere := []string{"Offers", "Declines", "Taken", "Fired", "Awaits", "Notes"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[jobData]()) {
		if !usual[f.Name] && !slices.Contains(elsewhere, f.Name) {
			t.Errorf("no job with %s was read by hand", f.Name)
		}
	}
}

// Every field of every event survives the log, whichever others are absent.
func TestEventLog_KeepsEveryField(t *testing.T) {
	t.Parallel()
	for _, example := range journal.Examples() {
		t.Run(example.Kind(), func(t *testing.T) {
			t.Parallel()
			log := journal.NewDecoder()
			rapid.Check(t, func(t *rapid.T) {
				for _, all := range []bool{true, false} {
					event := reflect.New(reflect.TypeOf(example).Elem())
					fillFields(t, event.Elem(), all)
					want, _ := event.Interface().(journal.Event)
					text, err := journal.Append(nil, want)
					if err != nil {
						t.Fatal(err)
					}
					if got, err := log.Decode(text); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
						t.Fatalf("another event is read, error %v, from: %s", err, text)
					}
				}
			})
		})
	}
}

// checkKept checks that an entity is the same after a snapshot. It returns its line.
func checkKept(t *rapid.T, want record) []byte {
	t.Helper()
	line, err := appendRecord(nil, &want)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := decodeRecords(line, 1)
	if err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	if got := parts[0]; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("another entity after a snapshot: %s", line)
	}
	return line
}

// fillFields sets a value and its exported fields: all of them, or each by chance.
func fillFields(t *rapid.T, v reflect.Value, all bool) {
	word := func() string { return rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "text") }
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.UnixMicro(rapid.Int64Range(1, 1e17).Draw(t, "instant")).UTC()))
		return
	case reflect.TypeFor[label.Value]():
		values := []label.Value{label.Text(word()), label.Number(1.5), label.Bool(true)}
		v.Set(reflect.ValueOf(rapid.SampledFrom(values).Draw(t, "value")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous || f.IsExported() && (all || rapid.Bool().Draw(t, "present")) {
				fillFields(t, v.Field(i), all)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillFields(t, v.Elem(), true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(1, 2).Draw(t, "length"), 2))
		for i := range v.Len() {
			fillFields(t, v.Index(i), true)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillFields(t, key, true)
		fillFields(t, value, true)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(word())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.Float64Range(0.5, 1e9).Draw(t, "number"))
	default:
		if v.CanInt() {
			v.SetInt(rapid.Int64Range(1, 1e9).Draw(t, "number"))
		} else if v.CanUint() {
			v.SetUint(rapid.Uint64Range(1, 1e9).Draw(t, "number"))
		} else {
			panic(fmt.Sprintf("fields of type %s cannot be filled", v.Type()))
		}
	}
}
