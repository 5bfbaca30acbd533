package config_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/config"
)

// Every number has bounds in its documentation, and they are enforced.
func TestConfig_BoundsAreAsDocumented(t *testing.T) {
	t.Parallel()
	c := reflect.TypeFor[config.Config]()
	for i := range c.NumField() {
		name, allowed := c.Field(i).Tag.Get("envconfig"), c.Field(i).Tag.Get("allowed")
		if kind := c.Field(i).Type.Kind(); kind != reflect.Int && kind != reflect.Int64 {
			continue
		}
		var low, high string
		if n, err := fmt.Sscanf(allowed, "%s to %s", &low, &high); err != nil {
			t.Errorf("%s: allowed is %q, with %d bounds", name, allowed, n)
			continue
		}
		high = strings.TrimSuffix(high, ";")
		below := "-" + strings.Replace(low, "0", "1", 1)
		for value, fine := range map[string]bool{low: true, high: true, below: false, "9" + high: false} {
			if got := slices.Contains(mistakes(t, name+"="+value), name); got == fine {
				t.Errorf("%s=%s is rejected: %v", name, value, got)
			}
		}
	}
}
