// Package server reads the settings, puts the parts of a gateway together and
// runs it. The container, `iris dev` and the end-to-end tests share it. No
// decision about devices, hosts or messages is made here.
package server
