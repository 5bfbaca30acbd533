package resource_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/router/label"
	"weir/router/resource"
)

// The first merge of a patch begins without members, the second with those of the
// first: nothing changes.
func TestMerge_TwiceIsOnce(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.SampledFrom([]any{"", "chat", "é<&>", "\u2028", nil, 1.0, true}), rapid.Map(rapid.String(), func(s string) any { return s }))
	value := rapid.OneOf(text, rapid.Map(rapid.Float64(), func(f float64) any { return f }))
	object := func(names ...string) *rapid.Generator[any] {
		return rapid.Map(rapid.MapOfN(rapid.SampledFrom(names), value, 0, 4), func(m map[string]any) any { return m })
	}
	labels := rapid.OneOf(object("a", "b", "<"), value)
	selectors := rapid.OneOf(value, rapid.Map(rapid.SliceOfN(rapid.OneOf(object("key", "labelOperator", "value"), object("key", "expedite", "Key"), value), 0, 3), func(l []any) any { return l }))
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		patch := map[string]any{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{
			"channelId", "queueId", "channelReference", "classificationPolicyId", "dispositionCode", "priority", "labels", "tags",
			"requestedWorkerSelectors", "ChannelID", "notes", "matchingMode",
		}), 0, 4).Draw(t, "members") {
			switch name {
			case "labels", "tags":
				patch[name] = labels.Draw(t, name)
			case "requestedWorkerSelectors":
				patch[name] = selectors.Draw(t, name)
			default:
				patch[name] = value.Draw(t, name)
			}
		}
		body, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		decoded := map[string]any{}
		if err := json.Unmarshal(body, &decoded); err != nil {
			t.Fatal(err)
		}
		want, err := resource.Merge(resource.JobSpec{}, decoded)
		if err != nil {
			return
		}
		plain++
		got, err := resource.Merge(want, decoded)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b label.Value) bool { return a == b })); diff != "" {
			t.Errorf("%s again (-once +twice):\n%s", body, diff)
		}
	})
	if plain == 0 {
		t.Error("no job was plain")
	}
}
