package config

// Load reads a configuration from an environment, a list of NAME=value as
// os.Environ returns it. A variable with an empty value counts as unset. Each
// secret may also be in a file that NAME_FILE names.
//
// The warnings are sentences for people. The error, if any, is an [*Error]
// with all invalid variables.
func Load(environ []string) (_ Config, warnings []string, _ error) {
	env := index(environ)
	var c Config
	c.origins = map[string]string{}
	var invalid []InvalidVariable
	for _, v := range variables(&c) {
		invalid = append(invalid, v.read(env, c.origins)...)
	}
	invalid = sorted(append(invalid, c.check(invalid)...))
	warnings = append(Unknown(environ), c.warnings()...)
	if len(invalid) > 0 {
		return Config{}, warnings, &Error{invalid}
	}
	if c.PublicURL == "" {
		c.PublicURL = c.DerivePublicURL(c.ListenAddr)
		c.origins["PUBLIC_URL"] = "LISTEN_ADDR"
	}
	return c, warnings, nil
}

// sorted returns the invalid variables in the order of their declaration.
func sorted(invalid []InvalidVariable) []InvalidVariable {
	var out []InvalidVariable
	for _, v := range variables(&Config{}) {
		for _, m := range invalid {
			if m.isOf(v) {
				out = append(out, m)
			}
		}
	}
	return out
}
