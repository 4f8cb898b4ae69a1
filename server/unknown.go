package server

import (
	"reflect"
	"slices"
	"strings"
)

// Unknown returns the variables of an environment ([os.Environ]) that are named
// like a setting and are none: a misspelt one would be as good as not there.
func Unknown(environ []string) []string {
	known := []string{"IRIS_URL", "IRIS_TOKEN"} // of the command line, perhaps from the same shell
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		known = append(known, field.Tag.Get("envconfig"))
	}
	var unknown []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "IRIS_") && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
