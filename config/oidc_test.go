package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/config"
	"weir/operators"
)

func oidc(more ...string) []string {
	return append([]string{
		"WEIR_OIDC_ISSUER=https://id.example.org/realms/a", "WEIR_OIDC_CLIENT_ID=weir", "WEIR_OIDC_CLIENT_SECRET=s3cret,with=all",
		"WEIR_OIDC_SCOPES=weir-admins=channels:admin, contacts:write,channels:admin; CN=ops,DC=example=surveys:admin;", "PUBLIC_URL=https://weir.example",
	}, more...)
}

func TestOIDC_GroupsHaveScopes(t *testing.T) {
	t.Parallel()
	c := load(t, oidc()...)
	want := config.GroupScopes{
		"weir-admins":       {operators.ScopeChannelsAdmin, operators.ScopeContactsWrite},
		"CN=ops,DC=example": {operators.ScopeSurveysAdmin},
	}
	if d := cmp.Diff(want, c.OIDCScopes); d != "" {
		t.Error(d)
	}
	var again config.GroupScopes
	if err := again.Decode(c.OIDCScopes.String()); err != nil || cmp.Diff(want, again) != "" {
		t.Errorf("%v: %v", again, err)
	}
	if string(c.OIDCClientSecret) != "s3cret,with=all" {
		t.Errorf("the secret is %q", string(c.OIDCClientSecret))
	}
	var b strings.Builder
	if err := c.Print(&b); err != nil || strings.Contains(b.String(), "s3cret") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if c := load(t, "WEIR_OIDC_ISSUER=http://127.0.0.1:9", "WEIR_OIDC_CLIENT_ID=weir", "WEIR_OIDC_SCOPES=a=router"); !c.PeopleLogIn() {
		t.Error("a provider on this machine is not used")
	}
}

// Each mistake is reported with its variable, all at once.
func TestOIDC_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		want    []string
	}{
		{[]string{"WEIR_OIDC_ISSUER=https://id.example.org", "PUBLIC_URL=https://weir.example"}, []string{"WEIR_OIDC_CLIENT_ID", "WEIR_OIDC_SCOPES"}},
		{[]string{"WEIR_OIDC_CLIENT_ID=weir"}, []string{"WEIR_OIDC_ISSUER"}},
		{[]string{"WEIR_OIDC_CLIENT_SECRET=x"}, []string{"WEIR_OIDC_ISSUER"}},
		{[]string{"WEIR_OIDC_SCOPES=a=router"}, []string{"WEIR_OIDC_ISSUER"}},
		{oidc("WEIR_OIDC_ISSUER=http://id.example.org"), []string{"WEIR_OIDC_ISSUER"}},
		{oidc("WEIR_OIDC_ISSUER=https://id.example.org?tenant=1"), []string{"WEIR_OIDC_ISSUER"}},
		{oidc("PUBLIC_URL=http://weir.example"), []string{"PUBLIC_URL"}},
		{oidc("PUBLIC_URL=", "LISTEN_ADDR=0.0.0.0:8080"), []string{"PUBLIC_URL"}},
		{oidc("WEIR_OIDC_CLIENT_ID=two words", "WEIR_OIDC_GROUPS_CLAIM=a b", "WEIR_OIDC_REQUEST_SCOPES=profile", "WEIR_OIDC_TITLE=a\tb"), []string{"WEIR_OIDC_CLIENT_ID", "WEIR_OIDC_GROUPS_CLAIM", "WEIR_OIDC_REQUEST_SCOPES", "WEIR_OIDC_TITLE"}},
		{oidc("WEIR_OIDC_CLIENT_SECRET=two words"), []string{"WEIR_OIDC_CLIENT_SECRET"}},
		{oidc("WEIR_OIDC_SCOPES=;"), []string{"WEIR_OIDC_SCOPES"}},
	} {
		got := mistakes(t, c.environ...)
		slices.Sort(got)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.environ, d)
		}
	}
	for value, want := range map[string]string{
		"admins":                             `"admins" has no =`,
		"admins=channels:amdin":              `the group "admins" has the unknown scope "channels:amdin"; the scopes are contacts:write`,
		"admins=":                            `the group "admins" has the unknown scope ""`,
		"=router":                            `"" is no name of a group`,
		"a=contacts:read@,router@b,x":        `the scope "contacts:read@" of the group "a" must have the beginning of names behind @, such as contacts:read@north-; the scope "router@b" of the group "a" must have no @: router is for the whole installation; only contacts:write, contacts:read, channels:admin, surveys:admin can be limited; the group "a" has the unknown scope "x"`,
		"a=router;a=pii:read":                `the group "a" is there twice`,
		strings.Repeat("a", 201) + "=router": "is no name of a group",
	} {
		_, _, err := config.Load(oidc("WEIR_OIDC_SCOPES=" + value))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}

// People who log in by name keep the API closed, so that no token is needed to start.
func TestOIDC_NeedsNoToken(t *testing.T) {
	t.Parallel()
	_, warnings, err := config.Load(oidc("LISTEN_ADDR=0.0.0.0:8080"))
	if err != nil || len(warnings) != 0 {
		t.Errorf("%q %v", warnings, err)
	}
	_, warnings, _ = config.Load(oidc("WEIR_OIDC_CLIENT_SECRET="))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "public client") {
		t.Errorf("%q", warnings)
	}
}
