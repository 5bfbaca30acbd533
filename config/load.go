package config

// Load reads a configuration from an environment, a list of NAME=value as
// os.Environ returns it. A variable with an empty value counts as unset. Each
// secret may also be in a file that NAME_FILE names.
//
// The warnings are sentences for people. The error, if any, is an [*Error]
// with all invalid variables.
func Load(environ []string) (_ Config, warnings []string, _ error) {
	env := index(environ)
	c := Config{origins: map[string]string{}, files: map[string]string{}}
	all, wrong := variables(&c), map[string]*InvalidVariable{}
	for _, v := range all {
		wrong[v.name] = v.read(env, &c)
	}
	allowed := c.allowed()
	var invalid []InvalidVariable
	for _, v := range all {
		m := wrong[v.name]
		if fine, checked := allowed[v.name]; m == nil && (checked && !fine || !v.inBounds()) {
			m = v.invalid(v.text())
		}
		if m != nil {
			invalid = append(invalid, *m)
		}
	}
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
