package e2e

// Setenv adds settings, in the form NAME=value, or replaces them, for the next
// starts.
func (g *Gateway) Setenv(settings ...string) { g.env = append(g.env, settings...) }
