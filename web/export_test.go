package web

// Served makes the handler call f with every pattern that it serves.
func (o *Options) Served(f func(pattern string)) { o.served = f }
