package config_test

import (
	"strings"
	"testing"

	"weir/config"
)

// Scenario 203: tokens that can be guessed are warned about once.
func TestTokens_WeakOnesAreWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[string]int{
		"0123456789abcdef0123456789abcde":  1, // 124 bits
		"0123456789abcdef0123456789abcdef": 0, "hunter2": 1, "hunter2,0123456789abcdef0123456789abcdef,secret-two": 1,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 1, "Zm9vYmFyYmF6cXV4enl6enl4": 0,
	} {
		_, warnings, err := config.Load([]string{"WEIR_API_TOKENS=" + tokens})
		if err != nil || len(warnings) != want || want > 0 && !strings.Contains(warnings[0], "less than 128 bits") {
			t.Errorf("%s: %q %v", tokens, warnings, err)
		}
	}
}
